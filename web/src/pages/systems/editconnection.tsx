// SPDX-License-Identifier: Apache-2.0
// A connection is made or changed. Its credential is typed here and never comes back; its signing secret is shown once.
import { useState } from 'preact/hooks';

import { ask } from '../../lib/api.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Checks, FormDialog } from '../../ui/form.tsx';
import { Notice } from '../../ui/notice.tsx';
import { Secret } from '../agents/connect.tsx';
import { connectionPath, useSystemWords, wordsOf, type Connection } from './model.ts';

const MODES = ['sync', 'callback', 'events'] as const;
const AUTHS = ['none', 'header', 'bearer', 'basic'] as const;
const EVENTS = ['proposal.*', 'approval.decided', 'tool.called'];

/** The signing secret, this once. */
export function Made({ secret, onClose }: { secret: string; onClose: () => void }) {
	const s = useSystemWords();
	return (
		<Dialog title={s.webhooks.made} onClose={() => {}}>
			<Notice tone="good"><p>{s.webhooks.madeText}</p></Notice>
			<Secret name={s.webhooks.signing} value={secret} />
			<div class="buttons"><button type="button" class="primary" onClick={onClose}>{s.webhooks.copied}</button></div>
		</Dialog>
	);
}

type Saying = Pick<Connection, 'name' | 'url' | 'mode' | 'answer' | 'auth' | 'authName' | 'events'> & { secret: string; allow: string; seconds: string };

const begin = (c: Connection | null): Saying => ({
	name: c?.name ?? '', url: c?.url ?? '', mode: c?.mode ?? 'sync', answer: c?.answer ?? 'json', auth: c?.auth ?? 'none', authName: c?.authName ?? '', events: c?.events ?? ['proposal.*'],
	secret: '', allow: (c?.allow ?? []).join(' '), seconds: String((c?.deadlineMs ?? 30_000) / 1000),
});

function bodyOf(f: Saying, fresh: boolean): object {
	const named = f.auth === 'header' || f.auth === 'basic';
	return {
		...(fresh && { name: f.name }), url: f.url, mode: f.mode, answer: f.answer, auth: f.auth, authName: named ? f.authName : '', allow: wordsOf(f.allow), events: f.mode === 'events' ? f.events : [],
		...(f.mode !== 'events' && { deadlineMs: Math.round(Number(f.seconds) * 1000) }), ...(f.auth !== 'none' && f.secret && { authSecret: f.secret }),
	};
}

function Auth({ f, keeps, onSet }: { f: Saying; keeps: boolean; onSet: (some: Partial<Saying>) => void }) {
	const s = useSystemWords();
	const name = s.webhooks.authName[f.auth];
	return (
		<>
			<label>{s.webhooks.auth} <select value={f.auth} onChange={(event) => onSet({ auth: event.currentTarget.value as Connection['auth'] })}>{AUTHS.map((one) => <option key={one} value={one}>{s.webhooks.auths[one]}</option>)}</select></label>
			{name && <label>{name}<input type="text" required autocomplete="off" spellcheck={false} value={f.authName} onInput={(event) => onSet({ authName: event.currentTarget.value })} /></label>}
			{f.auth !== 'none' && <label>{s.webhooks.secret}<input type="password" autocomplete="off" value={f.secret} onInput={(event) => onSet({ secret: event.currentTarget.value })} /><span class="hint-text">{keeps ? s.webhooks.secretKeep : s.credentialHint}</span></label>}
		</>
	);
}

export function EditConnection({ of, onDone, onClose }: { of: Connection | null; onDone: (c: Connection) => void; onClose: () => void }) {
	const s = useSystemWords();
	const [f, setF] = useState(() => begin(of)), [made, setMade] = useState<Connection | null>(null);
	const set = (some: Partial<Saying>) => setF((was) => ({ ...was, ...some }));
	if (made?.signingSecret) return <Made secret={made.signingSecret} onClose={() => onDone(made)} />;
	const send = async () => {
		const now = await ask<Connection>(of ? 'PATCH' : 'POST', of ? connectionPath(of.id) : '/api/v1/connections', bodyOf(f, !of));
		if (now.signingSecret) setMade(now);
		else onDone(now);
	};
	return (
		<FormDialog title={of ? s.webhooks.editTitle : s.webhooks.addTitle} does={of ? s.change.replace('…', '') : s.webhooks.add} ready={f.name.trim() !== '' && f.url.trim() !== ''} onDo={send} onClose={onClose}>
			{!of && <label>{s.name}<input type="text" required maxLength={64} autocomplete="off" spellcheck={false} value={f.name} onInput={(event) => set({ name: event.currentTarget.value })} autofocus /><span class="hint-text">{s.webhooks.nameHint}</span></label>}
			<label>{s.webhooks.url}<input type="url" required placeholder="https://" autocomplete="off" value={f.url} onInput={(event) => set({ url: event.currentTarget.value })} /></label>
			<label>{s.webhooks.mode} <select value={f.mode} onChange={(event) => set({ mode: event.currentTarget.value as Connection['mode'] })}>{MODES.map((one) => <option key={one} value={one}>{s.webhooks.modes[one]}</option>)}</select></label>
			{f.mode === 'events' ? <Checks legend={s.webhooks.events} all={EVENTS} chosen={f.events} onChange={(events) => set({ events })} name={(id) => s.webhooks.eventNames[id] ?? id} /> : (
				<>
					<label>{s.webhooks.answer} <select value={f.answer} onChange={(event) => set({ answer: event.currentTarget.value as Connection['answer'] })}>{(['json', 'command'] as const).map((one) => <option key={one} value={one}>{s.webhooks.answers[one]}</option>)}</select></label>
					<label>{s.webhooks.seconds}<input type="number" min={1} required value={f.seconds} onInput={(event) => set({ seconds: event.currentTarget.value })} /></label>
				</>
			)}
			<Auth f={f} keeps={of !== null && of.hasSecret && f.url === of.url} onSet={set} />
			<label>{s.networks}<input type="text" autocomplete="off" spellcheck={false} value={f.allow} onInput={(event) => set({ allow: event.currentTarget.value })} /><span class="hint-text">{s.networksHint}</span></label>
		</FormDialog>
	);
}
