// SPDX-License-Identifier: Apache-2.0
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

import { ask, sessionEnded, signIn } from '../../lib/api.ts';
import { useStore } from '../../lib/store.ts';
import { Failure, Notice } from '../../ui/notice.tsx';
import { useWords } from '../../words/words.ts';
import { Preferences } from '../../ui/preferences.tsx';
import { Sign } from '../../ui/sign.tsx';

/** Where an identity provider is set up, a way there; it comes back to this very page. */
function Provider() {
	const w = useWords();
	const [there, setThere] = useState(false);
	useEffect(() => {
		ask<{ oidc: boolean }>('GET', '/api/v1/session').then(({ oidc }) => setThere(oidc), () => {});
	}, []);
	if (!there) return null;
	const back = encodeURIComponent(location.pathname + location.search);
	return (
		<>
			<p class="or"><span>{w.signIn.or}</span></p>
			<a class="button" href={`/api/v1/session/oidc?returnTo=${back}`}>{w.signIn.provider}</a>
		</>
	);
}

function Form() {
	const w = useWords();
	const [working, setWorking] = useState(false);
	const [error, setError] = useState<unknown>(null);
	const email = useRef<HTMLInputElement>(null), password = useRef<HTMLInputElement>(null);
	useLayoutEffect(() => email.current!.focus(), []);
	const submit = async (event: Event) => {
		event.preventDefault();
		setWorking(true);
		setError(null);
		try {
			await signIn(email.current!.value, password.current!.value);
		} catch (e) {
			setError(e);
			setWorking(false);
			password.current?.select();
		}
	};
	return (
		<form onSubmit={submit}>
			<label>{w.signIn.email}<input ref={email} type="email" autocomplete="username" required /></label>
			<label>{w.signIn.password}<input ref={password} type="password" autocomplete="current-password" required /></label>
			{error !== null && <Failure error={error} />}
			<button type="submit" class="primary" disabled={working}>{working ? w.signIn.working : w.signIn.submit}</button>
		</form>
	);
}

export function SignIn() {
	const w = useWords();
	const ended = useStore(sessionEnded);
	useEffect(() => {
		document.title = `${w.signIn.title} · Countersign`;
	}, [w]);
	return (
		<main class="sign-in" id="main">
			<h1><Sign /> Countersign</h1>
			<p class="tagline">{w.tagline}</p>
			{!window.isSecureContext && <Notice tone="bad"><p>{w.signIn.insecure}</p></Notice>}
			{ended && <Notice tone="info"><p>{w.signIn.ended}</p></Notice>}
			<Form />
			<Provider />
			<Preferences />
		</main>
	);
}
