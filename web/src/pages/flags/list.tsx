// SPDX-License-Identifier: Apache-2.0
// All things of a project, with what each environment says of them side by side.
import { useState } from 'preact/hooks';

import { useFresh } from '../../lib/answer.ts';
import { canon, type Json } from '../../lib/canon.ts';
import { follow, pagePath } from '../../lib/route.ts';
import { visible } from '../../lib/visible.ts';
import { Failure } from '../../ui/notice.tsx';
import { Raw } from '../../ui/text.tsx';
import { useWords } from '../../words/words.ts';
import { Create, Promote } from './act.tsx';
import { stateOf, type Environment, type Item, type Kind } from './model.ts';
import { loadTable, useLoad, type Place, type Table } from './place.ts';
import { Quoted } from './said.tsx';

const MOST = 200; // rows at once: a filter finds the others

export function EnvironmentName({ env }: { env: Environment }) {
	const w = useWords();
	return <>{visible(env.name, false)} {env.production && <span class="mark risk-medium">{w.flags.production}</span>} {env.approvalGate && <span class="mark state-pending">{w.flags.gate}</span>}</>;
}

/** What it answers most people: the default, and how many rules come before it. */
function Short({ item }: { item: Item | null }) {
	const w = useWords();
	if (!item) return <span class="quiet">–</span>;
	const on = item.defaultValue === true;
	return (
		<span class="short">
			{item.defaultValue !== undefined && (item.type === 'boolean' ? <span class={`switch ${on ? 'on' : ''}`}><span aria-hidden="true" class="switch-knob" />{String(item.defaultValue)}</span> : <span class="clip short-value"><Quoted of={item.defaultValue} /></span>)}
			<span class="fine">{item.rules.length > 0 || item.type ? w.flags.ruleCount(item.rules.length) : w.flags.listed(item.allowList?.length ?? 0)}</span>
		</span>
	);
}

const differs = (kind: Kind, states: readonly (Item | null)[]): boolean => new Set(states.map((item) => canon((item && stateOf(kind, item)) as unknown as Json))).size > 1;

function Rows({ table, place, kind }: { table: Table; place: Place; kind: Kind }) {
	const w = useWords();
	return (
		<table class="table flag-table">
			<thead><tr><th scope="col">{w.flags.key}</th>{place.environments.map((env) => <th scope="col" key={env.id}><EnvironmentName env={env} /></th>)}</tr></thead>
			<tbody>
				{table.map((row) => (
					<tr key={row.key}>
						<th scope="row">
							<a href={pagePath('flags', place.project.key, kind, row.key)} onClick={follow}><code><Raw of={row.key} lines={false} /></code></a> {row.type && <span class="fine">{w.flags.types[row.type]}</span>} {differs(kind, row.in) && <span class="mark">{w.flags.differs}</span>}
							{row.description && <p class="fine flag-note"><Raw of={row.description} lines={false} /></p>}
						</th>
						{row.in.map((item, i) => <td key={i}><Short item={item} /></td>)}
					</tr>
				))}
			</tbody>
		</table>
	);
}

export function List({ place, kind }: { place: Place; kind: Kind }) {
	const w = useWords();
	const { data: table, error, again } = useLoad(() => loadTable(kind, place.environments), [place, kind]);
	const [text, setText] = useState(''), [act, setAct] = useState<'create' | 'promote' | null>(null);
	useFresh(again);
	const words = text.toLowerCase().split(/\s+/);
	const fits = table?.filter((row) => words.every((word) => `${row.key} ${row.description}`.toLowerCase().includes(word))) ?? [];
	if (error !== null) return <Failure error={error} retry={again} />;
	if (!table) return <p class="quiet" role="status">{w.loading}</p>;
	const dialogs = (
		<>
			{act === 'create' && <Create place={place} kind={kind} onClose={() => setAct(null)} />}
			{act === 'promote' && <Promote place={place} kind={kind} name={null} onClose={() => setAct(null)} />}
		</>
	);
	const create = <button type="button" class="primary" onClick={() => setAct('create')}>{w.flags.create[kind]}</button>;
	if (table.length === 0) return <div class="panel"><div class="empty"><h3>{w.flags.none[kind]}</h3><p>{w.flags.noneText}</p><p>{create}</p></div>{dialogs}</div>;
	return (
		<div class="panel">
			<div class="panel-head"><input type="search" aria-label={w.inbox.filter} placeholder={w.inbox.filter} value={text} onInput={(event) => setText(event.currentTarget.value)} /><span class="quiet">{w.flags.shown(fits.length)}</span><div class="buttons">{place.environments.length > 1 && <button type="button" onClick={() => setAct('promote')}>{w.flags.promote}</button>}{create}</div></div>
			{fits.length === 0 ? <div class="empty"><h3>{w.inbox.nothingFits}</h3></div> : <div class="wide-table" tabIndex={0} role="group" aria-label={w.flags.kinds[kind]}><Rows table={fits.slice(0, MOST)} place={place} kind={kind} /></div>}
			{fits.length > MOST && <p class="quiet pad">{w.flags.more(fits.length - MOST)}</p>}
			{dialogs}
		</div>
	);
}
