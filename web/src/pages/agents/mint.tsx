// SPDX-License-Identifier: Apache-2.0
// A new token: what it may, in words; then its secret, once, and the line for the client.
import { useState } from 'preact/hooks';

import { ask } from '../../lib/api.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Failure, Notice } from '../../ui/notice.tsx';
import { Raw } from '../../ui/text.tsx';
import { useWords } from '../../words/words.ts';
import { Connect, Secret } from './connect.tsx';
import type { Minted } from './model.ts';

/** safe: what an agent gets unless somebody says otherwise. Admin is not here: the command line has it, with its warning. */
export const TEMPLATES = ['safe', 'observer', 'proposer', 'operator', 'maintainer'] as const;
export type Template = (typeof TEMPLATES)[number];

const LIVES = [1, 7, 30, 90] as const; // days

export const mint = (principalId: string, name: string, template: Template, days: number, approvalRequired: boolean): Promise<Minted> =>
	ask<Minted>('POST', '/api/v1/tokens', { name, principalId, ttlSeconds: days * 86400, ...(template === 'safe' ? {} : { level: template }), ...(approvalRequired ? { approvalRequired } : {}) });

export function Shown({ made }: { made: Minted }) {
	const w = useWords();
	return (
		<>
			<Notice tone="good"><p>{w.agents.shownOnce}</p></Notice>
			{(made.warnings ?? []).map((text) => <Notice key={text} tone="info"><p><Raw of={text} /></p></Notice>)}
			<Secret name={w.agents.token} value={made.token} />
			<Connect token={made.token} />
		</>
	);
}

function Choices({ template, onChange }: { template: Template; onChange: (template: Template) => void }) {
	const w = useWords();
	return (
		<fieldset class="choices">
			<legend>{w.agents.may}</legend>
			{TEMPLATES.map((one) => (
				<label key={one} class="choice">
					<input type="radio" name="template" value={one} checked={template === one} onChange={() => onChange(one)} />
					<span><b>{w.agents.templates[one]}</b><span class="hint-text">{w.agents.templateTexts[one]}</span></span>
				</label>
			))}
		</fieldset>
	);
}

export function Mint({ agent, onMade, onClose }: { agent: { id: string; name: string }; onMade: () => void; onClose: () => void }) {
	const w = useWords();
	const [name, setName] = useState(''), [template, setTemplate] = useState<Template>('safe'), [days, setDays] = useState(7), [asks, setAsks] = useState(false);
	const [working, setWorking] = useState(false), [error, setError] = useState<unknown>(null), [made, setMade] = useState<Minted | null>(null);
	const submit = async (event: Event) => {
		event.preventDefault();
		setWorking(true);
		setError(null);
		await mint(agent.id, name, template, days, asks).then((token) => {
			setMade(token);
			onMade();
		}, setError);
		setWorking(false);
	};
	if (made) {
		return (
			<Dialog title={w.agents.minted} onClose={() => {}}>
				<Shown made={made} />
				<div class="buttons"><button type="button" class="primary" onClick={onClose}>{w.agents.kept}</button></div>
			</Dialog>
		);
	}
	return (
		<Dialog title={w.agents.mintTitle} onClose={() => !working && onClose()}>
			<form onSubmit={submit}>
				<label>{w.agents.tokenName}<input type="text" required maxLength={200} value={name} onInput={(event) => setName(event.currentTarget.value)} placeholder={w.agents.tokenNameHint} autofocus /></label>
				<Choices template={template} onChange={setTemplate} />
				<label>{w.agents.life} <select value={days} onChange={(event) => setDays(Number(event.currentTarget.value))}>{LIVES.map((one) => <option key={one} value={one}>{w.agents.days(one)}</option>)}</select></label>
				<label class="check"><input type="checkbox" checked={asks} onChange={(event) => setAsks(event.currentTarget.checked)} /> {w.agents.asksAlways}</label>
				{error !== null && <Failure error={error} />}
				<div class="buttons">
					<button type="button" onClick={onClose} disabled={working}>{w.close}</button>
					<button type="submit" class="primary" disabled={working || name.trim() === ''}>{w.agents.mint}</button>
				</div>
			</form>
		</Dialog>
	);
}
