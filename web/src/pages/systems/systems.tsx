// SPDX-License-Identifier: Apache-2.0
// Other systems: MCP servers whose tools are offered here, and connections that take webhooks.
import { follow, pagePath } from '../../lib/route.ts';
import { useWords } from '../../words/words.ts';
import { ConnectionPage } from './connection.tsx';
import { Connections } from './connections.tsx';
import { useSystemWords } from './model.ts';
import { UpstreamPage } from './upstream.tsx';
import { Upstreams } from './upstreams.tsx';
import './systems.css';

const parts = { servers: Upstreams, webhooks: Connections };
type Part = keyof typeof parts;

export default function Systems({ path }: { path: readonly string[] }) {
	const w = useWords(), s = useSystemWords();
	const [first, id] = path, part: Part = first === 'webhooks' ? 'webhooks' : 'servers';
	if (id) return part === 'servers' ? <UpstreamPage key={id} id={id} /> : <ConnectionPage key={id} id={id} />;
	const View = parts[part];
	return (
		<div class="sheet">
			<div class="sheet-head"><div><h2>{w.pages.systems}</h2><p class="lead">{s.lead}</p></div></div>
			<nav class="views" aria-label={w.pages.systems}>
				{(Object.keys(parts) as Part[]).map((one) => <a key={one} href={pagePath('systems', one)} onClick={follow} aria-current={one === part ? 'page' : undefined}>{s.parts[one]}</a>)}
			</nav>
			<View key={part} />
		</div>
	);
}
