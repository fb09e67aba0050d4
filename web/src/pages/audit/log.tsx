// SPDX-License-Identifier: Apache-2.0
// The entries that fit, newest first, page by page.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

import { ask } from '../../lib/api.ts';
import { onNews } from '../../lib/live.ts';
import { follow, pagePath, route } from '../../lib/route.ts';
import { useStore } from '../../lib/store.ts';
import { clockTime } from '../../lib/time.ts';
import { Failure, say } from '../../ui/notice.tsx';
import { Raw } from '../../ui/text.tsx';
import { language, useWords } from '../../words/words.ts';
import { exportLog } from './export.ts';
import { Filters, isEmpty, question, readFilter, showFilter } from './filter.tsx';
import { logPath, type Entry } from './model.ts';
import { useNames, type Names } from './names.ts';

const PAGE = 50;
const PATIENCE = 20; // pages without a hit before one is asked whether to go on

interface Found {
	entries: readonly Entry[];
	next: string | null;
	state: 'loading' | 'ready' | 'failed';
	error: unknown;
}
const NOTHING: Found = { entries: [], next: null, state: 'loading', error: null };

function useLog(slug: string, asked: string) {
	const [found, setFound] = useState(NOTHING);
	const mine = useRef(0);
	const load = useCallback(async (before: Found) => {
		const turn = ++mine.current;
		const still = () => turn === mine.current;
		setFound({ ...before, state: 'loading', error: null });
		const entries = [...before.entries];
		let cursor = before.next;
		try {
			for (let i = 0; i < PATIENCE; i++) { // a page may be short and still not be the last
				const page = await ask<{ entries: Entry[]; nextCursor?: string }>('GET', logPath(slug, `?limit=${PAGE}&${asked}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`));
				if (!still()) return;
				entries.push(...page.entries);
				cursor = page.nextCursor ?? null;
				if (cursor === null || entries.length - before.entries.length >= PAGE) break;
			}
			setFound({ entries, next: cursor, state: 'ready', error: null });
		} catch (error) {
			if (still()) setFound({ ...before, state: 'failed', error });
		}
	}, [slug, asked]);
	useEffect(() => {
		void load(NOTHING);
		return () => void mine.current++;
	}, [load]);
	return { found, again: () => load(NOTHING), more: () => load(found) };
}

function Row({ entry, names }: { entry: Entry; names: Names }) {
	const w = useWords();
	const lang = useStore(language);
	const { resourceId = '', resourceKey = '' } = entry;
	const about = entry.resourceType === 'proposal' && entry.tool ? entry.tool : names.all.get(resourceId) ?? (resourceKey && resourceKey !== resourceId ? resourceKey : resourceId && names.of(resourceId));
	return (
		<tr>
			<td class="audit-time"><time dateTime={entry.time}>{clockTime(entry.time, lang)}</time></td>
			<th scope="row"><a href={pagePath('audit', entry.id)} onClick={follow}>{w.audit.actions[entry.action] ?? entry.action}</a></th>
			<td>{entry.actorId ? names.of(entry.actorId) : w.audit.actorTypes.system} <span class="fine">{w.audit.actorTypes[entry.actorType] ?? entry.actorType}</span></td>
			<td class="audit-about"><span class="fine">{entry.resourceType && (w.audit.things[entry.resourceType] ?? entry.resourceType)}</span> <code><Raw of={about} lines={false} /></code></td>
		</tr>
	);
}

function Export({ slug }: { slug: string }) {
	const w = useWords();
	const [part, setPart] = useState<number | null>(null);
	const [error, setError] = useState<unknown>(null);
	const run = async (format: 'jsonl' | 'csv') => {
		setPart(0);
		setError(null);
		await exportLog(slug, format, setPart).then(() => say(w.audit.exported), setError);
		setPart(null);
	};
	return (
		<div class="audit-export">
			<div class="buttons">
				<button type="button" disabled={part !== null} onClick={() => void run('jsonl')} title={w.audit.exportHint}>{part === null ? w.audit.exportLog : w.audit.exporting(part)}</button>
				<button type="button" disabled={part !== null} onClick={() => void run('csv')}>CSV</button>
			</div>
			{error !== null && <Failure error={error} />}
		</div>
	);
}

export function Log({ slug }: { slug: string }) {
	const w = useWords();
	useStore(route); // the filter is in the address
	const filter = readFilter(location.search), names = useNames();
	const { found, again, more } = useLog(slug, question(filter).toString());
	const [newer, setNewer] = useState(false);
	useEffect(() => onNews(({ type }) => type !== 'resync' && setNewer(true)), []);
	const { entries, next, state, error } = found;
	return (
		<div class="sheet">
			<div class="sheet-head">
				<div><h2>{w.pages.audit}</h2><p class="lead">{w.audit.lead}</p></div>
				<Export slug={slug} />
			</div>
			<div class="panel">
				<Filters filter={filter} names={names} />
				{newer && <p class="audit-newer" role="status"><button type="button" onClick={() => { setNewer(false); void again(); }}>↑ {w.audit.newer}</button></p>}
				{entries.length > 0 && (
					<div class="wide-table" tabIndex={0} role="group" aria-label={w.pages.audit}>
						<table class="table stacked audit-table">
							<thead><tr><th scope="col">{w.audit.when}</th><th scope="col">{w.audit.what}</th><th scope="col">{w.audit.who}</th><th scope="col">{w.audit.about}</th></tr></thead>
							<tbody>{entries.map((entry) => <Row key={entry.id} entry={entry} names={names} />)}</tbody>
						</table>
					</div>
				)}
				{state === 'failed' && <div class="panel-body"><Failure error={error} retry={() => void again()} /></div>}
				{state === 'loading' && <p class="quiet pad" role="status">{w.loading}</p>}
				{state === 'ready' && entries.length === 0 && next === null && (
					<div class="empty"><h3>{w.audit.none}</h3>{!isEmpty(filter) && <button type="button" onClick={() => showFilter(readFilter(''))}>{w.inbox.clearFilter}</button>}</div>
				)}
				{state === 'ready' && next !== null && <p class="audit-more"><button type="button" onClick={() => void more()}>{w.audit.older}</button></p>}
				{state === 'ready' && next === null && entries.length > 0 && <p class="audit-more quiet">{w.audit.end(entries.length)}</p>}
			</div>
		</div>
	);
}
