// SPDX-License-Identifier: Apache-2.0
// A server that wants OAuth: an admin agrees there, in this browser, and comes back. Where they are sent is said first.
import { useState } from 'preact/hooks';

import { ask } from '../../lib/api.ts';
import { FormDialog } from '../../ui/form.tsx';
import { Failure, Notice, say } from '../../ui/notice.tsx';
import { Raw } from '../../ui/text.tsx';
import { upstreamPath, useSystemWords, type Upstream } from './model.ts';

/** Only an address that a browser opens as a page, whatever the other side says. */
const isPage = (url: string): boolean => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);

function Go({ u, url, onClose }: { u: Upstream; url: string; onClose: () => void }) {
	const s = useSystemWords();
	return (
		<FormDialog title={s.servers.goTitle} does={s.servers.go} ready={isPage(url)} onDo={async () => location.assign(url)} onClose={onClose}>
			<p class="dialog-summary"><Raw of={u.name} lines={false} /></p>
			<p>{s.servers.goText}</p>
			<p><code class="word-host"><Raw of={isPage(url) ? new URL(url).origin : url} lines={false} /></code></p>
		</FormDialog>
	);
}

export function Authorize({ of: u, onChanged }: { of: Upstream; onChanged: () => void }) {
	const s = useSystemWords();
	const [url, setUrl] = useState<string | null>(null), [forgetting, setForgetting] = useState(false), [error, setError] = useState<unknown>(null);
	const begin = () => ask<{ url: string }>('POST', `${upstreamPath(u.id)}/authorize`).then((answer) => { setError(null); setUrl(answer.url); }, setError);
	const forget = () => ask('DELETE', `${upstreamPath(u.id)}/authorization`).then(() => {
		setForgetting(false);
		say(s.servers.forgotten);
		onChanged();
	});
	return (
		<>
			{u.authorization === 'needed' && <Notice tone="info"><p>{s.servers.authorizeText}</p><button type="button" class="primary" onClick={() => void begin()}>{s.servers.authorize}</button></Notice>}
			{u.authorization === 'given' && <p class="quiet authorized">{s.servers.authorized} <button type="button" onClick={() => setForgetting(true)}>{s.servers.forget}</button></p>}
			{error !== null && <Failure error={error} />}
			{url !== null && <Go u={u} url={url} onClose={() => setUrl(null)} />}
			{forgetting && (
				<FormDialog title={s.servers.forgetTitle} does={s.servers.forget.replace('…', '')} danger onDo={forget} onClose={() => setForgetting(false)}>
					<p class="dialog-summary"><Raw of={u.name} lines={false} /></p>
					<p>{s.servers.forgetText}</p>
				</FormDialog>
			)}
		</>
	);
}
