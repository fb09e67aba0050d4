// SPDX-License-Identifier: Apache-2.0
// One's own account: who one is here, another password, and how people sign in.
import { useState } from 'preact/hooks';

import { useAnswer } from '../../lib/answer.ts';
import { ask, me } from '../../lib/api.ts';
import { useStore } from '../../lib/store.ts';
import { Failure, say } from '../../ui/notice.tsx';
import { Raw } from '../../ui/text.tsx';
import { useWords } from '../../words/words.ts';
import { Notices } from './notify.tsx';

function Password() {
	const w = useWords();
	const [current, setCurrent] = useState(''), [password, setPassword] = useState('');
	const [working, setWorking] = useState(false), [error, setError] = useState<unknown>(null);
	const submit = async (event: Event) => {
		event.preventDefault();
		setWorking(true);
		setError(null);
		await ask('PUT', '/api/v1/me/password', { current, password }).then(() => {
			say(w.settings.passwordChanged);
			setCurrent('');
			setPassword('');
		}, setError);
		setWorking(false);
	};
	return (
		<section class="panel" aria-labelledby="password-title">
			<div class="panel-head"><div><h3 id="password-title">{w.settings.password}</h3><p class="fine">{w.settings.passwordText}</p></div></div>
			<form class="panel-body narrow" onSubmit={submit}>
				<label>{w.settings.passwordNow}<input type="password" required autocomplete="current-password" value={current} onInput={(event) => setCurrent(event.currentTarget.value)} /></label>
				<label>{w.settings.passwordNext}<input type="password" required minLength={12} autocomplete="new-password" value={password} onInput={(event) => setPassword(event.currentTarget.value)} /></label>
				{error !== null && <Failure error={error} />}
				<div><button type="submit" class="primary" disabled={working || current === '' || password === ''}>{w.settings.change}</button></div>
			</form>
		</section>
	);
}

export function Account() {
	const w = useWords();
	const who = useStore(me)!;
	const ways = useAnswer<{ password: boolean; oidc: boolean }>('/api/v1/session').data;
	return (
		<>
			<section class="panel" aria-labelledby="account-title">
				<div class="panel-head"><h3 id="account-title">{w.settings.parts.account}</h3></div>
				<dl class="panel-body pairs">
					<div><dt>{w.agents.name}</dt><dd><Raw of={who.name} lines={false} /></dd></div>
					{who.email && <div><dt>{w.signIn.email}</dt><dd><Raw of={who.email} lines={false} /></dd></div>}
					<div><dt>{w.settings.mayVote}</dt><dd>{who.mayVote ? w.card.yes : w.card.no}</dd></div>
					<div><dt>{w.settings.oidc}</dt><dd>{ways ? (ways.oidc ? w.settings.oidcOn : w.settings.oidcOff) : '…'}</dd></div>
				</dl>
			</section>
			<Notices />
			<Password />
		</>
	);
}
