// SPDX-License-Identifier: Apache-2.0
// The tokens of an agent: what each may, until when, and an end to it.
import { useCallback, useEffect, useState } from 'preact/hooks';

import { everything } from '../../lib/answer.ts';
import { ask } from '../../lib/api.ts';
import { nameOf, people } from '../../lib/people.ts';
import { useStore } from '../../lib/store.ts';
import { clockTime, serverNow } from '../../lib/time.ts';
import { visible } from '../../lib/visible.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Failure, say } from '../../ui/notice.tsx';
import { Raw } from '../../ui/text.tsx';
import { language, useWords } from '../../words/words.ts';
import type { Words } from '../../words/en.ts';
import { Mint, TEMPLATES } from './mint.tsx';
import type { Agent, Token } from './model.ts';

const verbs = (w: Words, list: string[]): string => list.map((verb) => w.agents.verbs[verb] ?? verb).join(', ');

const LEVELS: Record<string, string[]> = { observer: ['read'], proposer: ['read', 'propose'], operator: ['read', 'propose', 'toggle', 'write'], maintainer: ['read', 'propose', 'toggle', 'write', 'create', 'promote', 'delete'] };

/** What a token may, in words: the name of its level, or the verbs where it is bound to fewer. */
function scope(w: Words, token: Token): string {
	const level = TEMPLATES.find((one) => one === token.level), all = LEVELS[token.level] ?? [];
	const held = all.filter((verb) => !token.actions || token.actions.includes(verb));
	const whole = level && held.length === all.length && !token.productionActions;
	const parts = [whole ? w.agents.templates[level] : held.length > 0 ? verbs(w, held) : token.level || token.rules.join(', ')];
	if (token.productionActions) parts.push(w.agents.inProduction(verbs(w, token.productionActions)));
	if (token.approvalRequired) parts.push(w.agents.asksAlwaysShort);
	return parts.join('; ');
}

const lives = (token: Token): boolean => !token.revokedAt && Date.parse(token.expiresAt) > serverNow();

function Row({ token, onRevoke }: { token: Token; onRevoke: () => void }) {
	const w = useWords();
	const names = useStore(people), spoken = useStore(language);
	const end = token.revokedAt ? w.agents.revoked : lives(token) ? null : w.agents.over;
	return (
		<tr>
			<th scope="row"><Raw of={token.name} lines={false} /> <code class="quiet">{token.hint}</code>{token.delegatorId && <div class="fine">{w.agents.onBehalf(nameOf(names, token.delegatorId))}</div>}</th>
			<td><Raw of={scope(w, token)} lines={false} /></td>
			<td class="quiet">{end ? <span class="mark state-denied">{end}</span> : clockTime(token.expiresAt, spoken)}</td>
			<td class="end">{!end && <button type="button" class="danger" aria-label={`${w.agents.revoke}: ${visible(token.name, false)}`} onClick={onRevoke}>{w.agents.revoke}</button>}</td>
		</tr>
	);
}

function Revoke({ token, onDone, onClose }: { token: Token; onDone: () => void; onClose: () => void }) {
	const w = useWords();
	const [error, setError] = useState<unknown>(null);
	const submit = (event: Event) => {
		event.preventDefault();
		ask('DELETE', `/api/v1/tokens/${encodeURIComponent(token.id)}`).then(() => {
			say(w.agents.revokedNow);
			onDone();
		}, setError);
	};
	return (
		<Dialog title={w.agents.revokeTitle} onClose={onClose}>
			<form onSubmit={submit}>
				<p class="dialog-summary"><Raw of={token.name} lines={false} /> <code>{token.hint}</code></p>
				<p>{w.agents.revokeText}</p>
				{error !== null && <Failure error={error} />}
				<div class="buttons"><button type="button" onClick={onClose}>{w.close}</button><button type="submit" class="danger" autofocus>{w.agents.revoke}</button></div>
			</form>
		</Dialog>
	);
}

export function Tokens({ agent }: { agent: Agent }) {
	const w = useWords();
	const [tokens, setTokens] = useState<Token[] | null>(null), [error, setError] = useState<unknown>(null);
	const [minting, setMinting] = useState(false), [ending, setEnding] = useState<Token | null>(null), [all, setAll] = useState(false);
	const load = useCallback(() => {
		everything<Token>('/api/v1/tokens').then((found) => {
			setError(null);
			setTokens(found.filter((token) => token.principalId === agent.id).reverse());
		}, setError);
	}, [agent.id]);
	useEffect(load, [load]);
	const shown = (tokens ?? []).filter((token) => all || lives(token)), ended = (tokens ?? []).length - (tokens ?? []).filter(lives).length;
	return (
		<section class="panel" aria-labelledby="tokens-title">
			<div class="panel-head">
				<div><h3 id="tokens-title">{w.agents.tokens}</h3><p class="fine">{w.agents.tokensText}</p></div>
				<button type="button" class="primary" disabled={agent.disabled} onClick={() => setMinting(true)}>{w.agents.mint}</button>
			</div>
			{error !== null && <div class="panel-body"><Failure error={error} retry={load} /></div>}
			{tokens && shown.length === 0 && <div class="empty"><p>{w.agents.noTokens}</p></div>}
			{shown.length > 0 && (
				<div class="wide-table">
					<table class="table stacked">
						<thead><tr><th scope="col">{w.agents.tokenName}</th><th scope="col">{w.agents.may}</th><th scope="col">{w.agents.until}</th><th class="end"><span class="unseen">{w.agents.revoke}</span></th></tr></thead>
						<tbody>{shown.map((token) => <Row key={token.id} token={token} onRevoke={() => setEnding(token)} />)}</tbody>
					</table>
				</div>
			)}
			{ended > 0 && <p class="panel-foot"><label class="check"><input type="checkbox" checked={all} onChange={(event) => setAll(event.currentTarget.checked)} /> {w.agents.showEnded(ended)}</label></p>}
			{minting && <Mint agent={agent} onMade={load} onClose={() => setMinting(false)} />}
			{ending && <Revoke token={ending} onClose={() => setEnding(null)} onDone={() => { setEnding(null); load(); }} />}
		</section>
	);
}
