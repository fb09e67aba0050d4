// SPDX-License-Identifier: Apache-2.0
// The line that connects an MCP client, with the token in it: it is shown once, so it has to be ready.
import { useState } from 'preact/hooks';

import { Copy } from '../../ui/copy.tsx';
import { useWords } from '../../words/words.ts';

const clients = {
	'Claude Code': (url: string, token: string) => `claude mcp add --transport http countersign ${url} --header "Authorization: Bearer ${token}"`,
	'Cursor': (url: string, token: string) => JSON.stringify({ mcpServers: { countersign: { url, headers: { Authorization: `Bearer ${token}` } } } }, null, 2),
	'VS Code': (url: string, token: string) => JSON.stringify({ servers: { countersign: { type: 'http', url, headers: { Authorization: `Bearer ${token}` } } } }, null, 2),
	'MCP Inspector': (url: string, token: string) => `npx @modelcontextprotocol/inspector --cli ${url} --transport http --header "Authorization: Bearer ${token}" \\\n  --method tools/call --tool-name note_create --tool-arg title=Hello --tool-arg text="From an agent."`,
	'curl': (url: string, token: string) => `curl ${url.replace(/\/mcp$/, '/api/v1/proposals')} -H "Authorization: Bearer ${token}" \\\n  --json '{"tool": "note.create", "input": {"title": "Hello", "text": "From an agent."}}'`,
};
type Client = keyof typeof clients;

/** Where the line goes; the same everywhere, so not in the words. */
const files: Partial<Record<Client, string>> = { 'Cursor': '.cursor/mcp.json', 'VS Code': '.vscode/mcp.json' };

export function Connect({ token }: { token: string }) {
	const w = useWords();
	const [client, setClient] = useState<Client>('Claude Code');
	const line = clients[client](`${location.origin}/mcp`, token);
	return (
		<div class="fields">
			<label>{w.agents.client} <select value={client} onChange={(event) => setClient(event.currentTarget.value as Client)}>{Object.keys(clients).map((one) => <option key={one}>{one}</option>)}</select></label>
			{files[client] && <p class="fine">{w.agents.file} <code>{files[client]}</code></p>}
			<div class="secret"><pre tabIndex={0} aria-label={client}>{line}</pre><Copy text={line} what={client} key={client} /></div>
		</div>
	);
}

/** A secret that nobody sees again. */
export function Secret({ name, value }: { name: string; value: string }) {
	return <div class="secret"><code aria-label={name}>{value}</code><Copy text={value} what={name} /></div>;
}
