// SPDX-License-Identifier: Apache-2.0
// One connection: how it is reached, how it is, what it does, and what it has not been told yet.
import { useState } from 'preact/hooks';

import { useLook } from '../../lib/answer.ts';
import { ask } from '../../lib/api.ts';
import { follow, go, pagePath } from '../../lib/route.ts';
import { visible } from '../../lib/visible.ts';
import { FormDialog } from '../../ui/form.tsx';
import { HealthMarks, HealthText, type AllHealth, type Health } from '../../ui/health.tsx';
import { Failure, Notice, say, type Tone } from '../../ui/notice.tsx';
import { Raw } from '../../ui/text.tsx';
import { useWords } from '../../words/words.ts';
import { DeclaredTools } from './declare.tsx';
import { Deliveries } from './deliveries.tsx';
import { EditConnection, Made } from './editconnection.tsx';
import { Common, Fact, Networks } from './facts.tsx';
import { connectionPath, useSystemWords, type Connection } from './model.ts';

function Facts({ of: c, health }: { of: Connection; health: Health | undefined }) {
	const s = useSystemWords();
	return (
		<section class="panel" aria-label={s.where}>
			<dl class="facts panel-body">
				<Fact name={s.webhooks.url}><code><Raw of={c.url} lines={false} /></code></Fact>
				<Networks of={c.allow} />
				<Fact name={s.webhooks.mode}>{s.webhooks.modes[c.mode]}{c.mode !== 'events' && <span class="quiet"> · {s.webhooks.answer}: {s.webhooks.answers[c.answer]} · {s.webhooks.secondsOf(c.deadlineMs / 1000)}</span>}</Fact>
				{c.mode === 'events' && <Fact name={s.webhooks.events}>{c.events.map((one) => s.webhooks.eventNames[one] ?? one).join(', ')}</Fact>}
				<Fact name={s.webhooks.auth}>{s.webhooks.auths[c.auth]} {c.authName && <code><Raw of={c.authName} lines={false} /></code>} {c.hasSecret && <span class="quiet">({s.kept})</span>}{c.needsSecret && <strong>{s.webhooks.needsSecret}</strong>}</Fact>
				<Fact name={s.webhooks.signing}>{s.kept}{c.rotating && <span class="quiet"> · {s.webhooks.rotating}</span>}</Fact>
				<Common of={c} health={health} />
			</dl>
		</section>
	);
}

const KEEP_HOURS = [1, 24, 168, 720];

function Rotate({ of: c, onDone, onClose }: { of: Connection; onDone: (c: Connection) => void; onClose: () => void }) {
	const s = useSystemWords();
	const [hours, setHours] = useState(24), [made, setMade] = useState<Connection | null>(null);
	if (made?.signingSecret) return <Made secret={made.signingSecret} onClose={() => onDone(made)} />;
	return (
		<FormDialog title={s.webhooks.rotateTitle} does={s.webhooks.rotate.replace('…', '')} onDo={() => ask<Connection>('POST', `${connectionPath(c.id)}/rotate`, { keepSeconds: hours * 3600 }).then(setMade)} onClose={onClose}>
			<p class="dialog-summary"><Raw of={c.name} lines={false} /></p>
			<p>{s.webhooks.rotateText}</p>
			<label>{s.webhooks.keep} <select value={hours} onChange={(event) => setHours(Number(event.currentTarget.value))}>{KEEP_HOURS.map((one) => <option key={one} value={one}>{s.webhooks.hours(one)}</option>)}</select></label>
		</FormDialog>
	);
}

type Open = 'edit' | 'rotate' | 'remove' | null;

function Buttons({ c, onSaid, onChanged }: { c: Connection; onSaid: (tone: Tone, text: string) => void; onChanged: (c: Connection) => void }) {
	const s = useSystemWords();
	const [open, setOpen] = useState<Open>(null), [error, setError] = useState<unknown>(null), [working, setWorking] = useState(false);
	const disabled = c.state === 'disabled';
	const show = (now: Connection) => {
		setOpen(null);
		onChanged(now);
	};
	const ping = async () => {
		setWorking(true);
		setError(null);
		await ask<{ reached: boolean; httpStatus: number; why: string }>('POST', `${connectionPath(c.id)}/test`)
			.then((said) => (said.reached ? onSaid(said.httpStatus < 300 ? 'good' : 'info', s.webhooks.pinged(said.httpStatus)) : onSaid('bad', `${s.webhooks.notPinged} ${visible(said.why, false)}`)), setError);
		setWorking(false);
	};
	const turn = () => ask<Connection>('PATCH', connectionPath(c.id), { state: disabled ? 'active' : 'disabled' }).then((now) => {
		say(disabled ? s.isOn : s.isOff);
		show(now);
	}, setError);
	const remove = () => ask('DELETE', connectionPath(c.id)).then(() => {
		say(s.removed);
		go(pagePath('systems', 'webhooks'));
	});
	return (
		<div class="head-end">
			<div class="buttons">
				<button type="button" disabled={working || disabled} onClick={() => void ping()}>{s.webhooks.test}</button>
				<button type="button" onClick={() => setOpen('edit')}>{s.change}</button>
				<button type="button" onClick={() => setOpen('rotate')}>{s.webhooks.rotate}</button>
				<button type="button" onClick={turn}>{disabled ? s.switchOn : s.switchOff}</button>
				<button type="button" class="danger" onClick={() => setOpen('remove')}>{s.remove}</button>
			</div>
			{error !== null && <Failure error={error} />}
			{open === 'edit' && <EditConnection of={c} onDone={(now) => { say(s.saved); show(now); }} onClose={() => setOpen(null)} />}
			{open === 'rotate' && <Rotate of={c} onDone={show} onClose={() => setOpen(null)} />}
			{open === 'remove' && (
				<FormDialog title={s.webhooks.removeTitle} does={s.remove} danger onDo={remove} onClose={() => setOpen(null)}>
					<p class="dialog-summary"><Raw of={c.name} lines={false} /></p>
					<p>{s.webhooks.removeText}</p>
				</FormDialog>
			)}
		</div>
	);
}

export function ConnectionPage({ id }: { id: string }) {
	const w = useWords(), s = useSystemWords();
	const { data: c, error, again, set } = useLook<Connection>(connectionPath(id));
	const all = useLook<AllHealth>('/api/v1/outside/health'), health = all.data?.connections.find((one) => one.id === id);
	const [said, setSaid] = useState<{ tone: Tone; text: string } | null>(null);
	return (
		<div class="sheet">
			<p class="crumb"><a href={pagePath('systems', 'webhooks')} onClick={follow}>← {s.parts.webhooks}</a></p>
			{error !== null && <Failure error={error} retry={() => void again()} />}
			{!c && error === null && <p class="quiet" role="status">{w.loading}</p>}
			{c && (
				<>
					<div class="sheet-head">
						<div><h2><Raw of={c.name} lines={false} /></h2>{health && <p class="quiet"><HealthMarks of={health} /></p>}</div>
						<Buttons c={c} onSaid={(tone, text) => { setSaid({ tone, text }); void all.again(); }} onChanged={(now) => { const { signingSecret: _, ...rest } = now; set(rest); void all.again(); }} />
					</div>
					{said && <Notice tone={said.tone}><p>{said.text}</p></Notice>}
					{health && health.breaker !== 'closed' && health.state === 'active' && <Notice tone="bad"><p><HealthText of={health} /></p></Notice>}
					<Facts of={c} health={health} />
					{c.mode === 'events' ? <Deliveries of={c} onChanged={() => void all.again()} /> : <DeclaredTools of={c} onChanged={() => void all.again()} />}
				</>
			)}
		</div>
	);
}
