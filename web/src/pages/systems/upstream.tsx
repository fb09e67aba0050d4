// SPDX-License-Identifier: Apache-2.0
// One MCP server: where it is, what it is granted, how it is, and what it offers.
import { useState } from 'preact/hooks';

import { useLook } from '../../lib/answer.ts';
import { ask } from '../../lib/api.ts';
import { follow, go, pagePath } from '../../lib/route.ts';
import { HealthMarks, HealthText, type AllHealth, type Health } from '../../ui/health.tsx';
import { FormDialog } from '../../ui/form.tsx';
import { Failure, Notice, say } from '../../ui/notice.tsx';
import { Raw } from '../../ui/text.tsx';
import { useWords } from '../../words/words.ts';
import { Authorize } from './authorize.tsx';
import { Common, Fact, Networks } from './facts.tsx';
import { upstreamPath, useSystemWords, type Upstream, type UpstreamTool } from './model.ts';
import { Tools } from './tools.tsx';

function Program({ of }: { of: NonNullable<Upstream['program']> }) {
	const s = useSystemWords();
	const paths = of.paths ?? [];
	return (
		<>
			<Fact name={s.servers.runs}><code><Raw of={of.argv.join(' ')} lines={false} /></code></Fact>
			{of.directory && <Fact name={s.servers.directory}><code><Raw of={of.directory} lines={false} /></code></Fact>}
			<Fact name={s.servers.sees}>
				{paths.length === 0 && s.servers.seesNothing}
				{paths.length > 0 && <ul class="plain-list">{paths.map(({ path, writable }) => <li key={path}><span class={writable ? 'bad-text' : 'quiet'}>{writable ? s.servers.writesPath : s.servers.readsPath}</span> <code><Raw of={path} lines={false} /></code></li>)}</ul>}
				<div>{of.network ? <span class="bad-text">{s.servers.networkYes}</span> : s.servers.networkNo}</div>
			</Fact>
		</>
	);
}

function Facts({ of: u, health }: { of: Upstream; health: Health | undefined }) {
	const s = useSystemWords();
	return (
		<section class="panel" aria-label={s.where}>
			<dl class="facts panel-body">
				{u.url && <Fact name={s.servers.url}><code><Raw of={u.url} lines={false} /></code></Fact>}
				{u.kind === 'http' && <Networks of={u.networks} />}
				{u.program && <Program of={u.program} />}
				<Fact name={s.credentials}>{u.secrets.length === 0 ? s.noCredentials : <><Raw of={u.secrets.join(', ')} lines={false} /> <span class="quiet">({s.kept})</span></>}</Fact>
				<Common of={u} health={health} />
			</dl>
		</section>
	);
}

function Buttons({ u, looking, onLook, onChanged }: { u: Upstream; looking: boolean; onLook: () => void; onChanged: (u: Upstream) => void }) {
	const s = useSystemWords();
	const [removing, setRemoving] = useState(false), [error, setError] = useState<unknown>(null);
	const disabled = u.state === 'disabled';
	const turn = () => ask<Upstream>('PATCH', upstreamPath(u.id), { disabled: !disabled }).then((now) => {
		setError(null);
		say(disabled ? s.isOn : s.isOff);
		onChanged(now);
	}, setError);
	const remove = () => ask('DELETE', upstreamPath(u.id)).then(() => {
		say(s.removed);
		go(pagePath('systems', 'servers'));
	});
	return (
		<div class="head-end">
			<div class="buttons">
				<button type="button" class="primary" disabled={looking || disabled} onClick={onLook}>{looking ? s.servers.looking : s.servers.lookAgain}</button>
				<button type="button" onClick={turn}>{disabled ? s.switchOn : s.switchOff}</button>
				<button type="button" class="danger" onClick={() => setRemoving(true)}>{s.remove}</button>
			</div>
			{error !== null && <Failure error={error} />}
			{removing && (
				<FormDialog title={s.servers.removeTitle} does={s.remove} danger onDo={remove} onClose={() => setRemoving(false)}>
					<p class="dialog-summary"><Raw of={u.name} lines={false} /></p>
					<p>{s.servers.removeText}</p>
				</FormDialog>
			)}
		</div>
	);
}

/** Asks the server now; what was wrong stays to be read. */
function useRefresh(id: string, show: (tools: { tools: UpstreamTool[] }) => void, after: () => void) {
	const s = useSystemWords();
	const [looking, setLooking] = useState(false), [error, setError] = useState<unknown>(null);
	const look = async () => {
		setLooking(true);
		setError(null);
		try {
			const now = await ask<{ tools: UpstreamTool[] }>('POST', `${upstreamPath(id)}/refresh`);
			show(now);
			say(s.servers.lookedNow(now.tools.filter(({ state }) => state !== 'gone').length));
		} catch (e) {
			setError(e);
		} finally {
			setLooking(false);
			after();
		}
	};
	return { looking, error, look };
}

export function UpstreamPage({ id }: { id: string }) {
	const w = useWords(), s = useSystemWords();
	const { data: u, error, again, set } = useLook<Upstream>(upstreamPath(id));
	const tools = useLook<{ tools: UpstreamTool[] }>(`${upstreamPath(id)}/tools`);
	const all = useLook<AllHealth>('/api/v1/outside/health'), health = all.data?.upstreams.find((one) => one.id === id);
	const { looking, error: notLooked, look } = useRefresh(id, tools.set, () => void all.again());
	return (
		<div class="sheet">
			<p class="crumb"><a href={pagePath('systems', 'servers')} onClick={follow}>← {s.parts.servers}</a></p>
			{error !== null && <Failure error={error} retry={() => void again()} />}
			{!u && error === null && <p class="quiet" role="status">{w.loading}</p>}
			{u && (
				<>
					<div class="sheet-head">
						<div><h2><Raw of={u.name} lines={false} /></h2>{health && <p class="quiet"><HealthMarks of={health} /></p>}</div>
						<Buttons u={u} looking={looking} onLook={() => void look()} onChanged={(now) => { set(now); void all.again(); }} />
					</div>
					<Authorize of={u} onChanged={() => void again()} />
					{notLooked !== null && <Failure error={notLooked} />}
					{health && health.breaker !== 'closed' && health.state === 'active' && <Notice tone="bad"><p><HealthText of={health} /></p></Notice>}
					<Facts of={u} health={health} />
					{tools.error !== null && <Failure error={tools.error} retry={() => void tools.again()} />}
					{tools.data && <Tools of={tools.data.tools} upstream={u} onChanged={(now) => { tools.set(now); void all.again(); }} />}
				</>
			)}
		</div>
	);
}
