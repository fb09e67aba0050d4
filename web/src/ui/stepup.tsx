// SPDX-License-Identifier: Apache-2.0
// What decides who may approve wants a person who has just said who they are: the password is asked for again, and what was
// asked of the server is repeated.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

import { ask, authenticate, stepUp } from '../lib/api.ts';
import { useStore } from '../lib/store.ts';
import { useWords } from '../words/words.ts';
import { FormDialog } from './form.tsx';

/** For who signs in at an identity provider; it comes back to this very page. */
function Provider() {
	const w = useWords();
	const [there, setThere] = useState(false);
	useEffect(() => {
		ask<{ oidc: boolean }>('GET', '/api/v1/session').then(({ oidc }) => setThere(oidc), () => {});
	}, []);
	if (!there) return null;
	const back = encodeURIComponent(location.pathname + location.search);
	return <p><a class="button" href={`/api/v1/session/oidc?stepUp=true&returnTo=${back}`}>{w.stepUp.provider}</a></p>;
}

function Ask({ answer }: { answer: (done: boolean) => void }) {
	const w = useWords();
	const password = useRef<HTMLInputElement>(null);
	useLayoutEffect(() => password.current!.focus(), []);
	const done = async () => {
		await authenticate(password.current!.value);
		answer(true);
	};
	return (
		<FormDialog title={w.stepUp.title} does={w.stepUp.submit} onDo={done} onClose={() => answer(false)}>
			<p>{w.stepUp.text}</p>
			<label>{w.signIn.password}<input ref={password} type="password" autocomplete="current-password" required /></label>
			<Provider />
		</FormDialog>
	);
}

export function StepUp() {
	const answer = useStore(stepUp);
	return answer && <Ask answer={answer} />;
}
