// SPDX-License-Identifier: Apache-2.0
// A new MCP server: where it is, and all that it is granted, in words. Credentials are typed once.
import { useState } from 'preact/hooks';

import { ask } from '../../lib/api.ts';
import { FormDialog } from '../../ui/form.tsx';
import { linesOf, useSystemWords, wordsOf, type Upstream } from './model.ts';

type Kind = Upstream['kind'];

/** NAME=value, one a line. */
const envOf = (text: string): Record<string, string> => Object.fromEntries(linesOf(text).map((line) => {
	const at = line.indexOf('=');
	return at < 0 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1)];
}));

const EMPTY = { name: '', url: '', bearer: '', networks: '', program: '', reads: '', writes: '', env: '' };

function bodyOf(kind: Kind, f: typeof EMPTY, network: boolean): object {
	if (kind === 'http') return { name: f.name, kind, url: f.url, ...(f.bearer && { bearer: f.bearer }), ...(f.networks.trim() && { networks: wordsOf(f.networks) }) };
	const paths = [...linesOf(f.reads).map((path) => ({ path })), ...linesOf(f.writes).map((path) => ({ path, writable: true }))];
	return { name: f.name, kind, program: { argv: linesOf(f.program), ...(paths.length > 0 && { paths }), ...(network && { network }) }, ...(f.env.trim() && { env: envOf(f.env) }) };
}

export function AddUpstream({ onDone, onClose }: { onDone: (u: Upstream) => void; onClose: () => void }) {
	const s = useSystemWords();
	const [kind, setKind] = useState<Kind>('http'), [fields, setFields] = useState(EMPTY), [network, setNetwork] = useState(false);
	const bind = (name: keyof typeof EMPTY) => ({ value: fields[name], onInput: (event: { currentTarget: { value: string } }) => { const { value } = event.currentTarget; setFields((was) => ({ ...was, [name]: value })); } });
	const ready = fields.name.trim() !== '' && (kind === 'http' ? fields.url : fields.program).trim() !== '';
	return (
		<FormDialog title={s.servers.addTitle} does={s.servers.add} ready={ready} onDo={() => ask<Upstream>('POST', '/api/v1/upstreams', bodyOf(kind, fields, network)).then(onDone)} onClose={onClose}>
			<label>{s.name}<input type="text" required maxLength={32} autocomplete="off" spellcheck={false} {...bind('name')} autofocus /><span class="hint-text">{s.servers.nameHint}</span></label>
			<fieldset class="choices">
				<legend>{s.servers.kind}</legend>
				{(['http', 'stdio'] as const).map((one) => <label key={one} class="choice"><input type="radio" name="kind" checked={kind === one} onChange={() => setKind(one)} /> <span>{s.servers.kinds[one]}</span></label>)}
			</fieldset>
			{kind === 'http' ? (
				<>
					<label>{s.servers.url}<input type="url" required maxLength={2000} placeholder="https://" autocomplete="off" {...bind('url')} /></label>
					<label>{s.servers.bearer}<input type="password" maxLength={8000} autocomplete="off" {...bind('bearer')} /><span class="hint-text">{s.credentialHint}</span></label>
					<label>{s.networks}<input type="text" autocomplete="off" spellcheck={false} {...bind('networks')} /><span class="hint-text">{s.networksHint}</span></label>
				</>
			) : (
				<>
					<label>{s.servers.program}<textarea rows={3} required spellcheck={false} class="code" {...bind('program')} /><span class="hint-text">{s.servers.programHint}</span></label>
					<label>{s.servers.reads}<textarea rows={2} spellcheck={false} class="code" {...bind('reads')} /></label>
					<label>{s.servers.writes}<textarea rows={2} spellcheck={false} class="code" {...bind('writes')} /><span class="hint-text">{s.servers.pathsHint}</span></label>
					<label class="check"><input type="checkbox" checked={network} onChange={(event) => setNetwork(event.currentTarget.checked)} /> {s.servers.network}</label>
					<label>{s.servers.env}<textarea rows={2} spellcheck={false} class="code" autocomplete="off" {...bind('env')} /><span class="hint-text">{s.servers.envHint}</span></label>
				</>
			)}
		</FormDialog>
	);
}
