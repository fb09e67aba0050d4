// SPDX-License-Identifier: Apache-2.0
// Nothing to do: a good moment to say how something comes here.
import { follow, pagePath, type View } from '../../lib/route.ts';
import { Copy } from '../../ui/copy.tsx';
import { useWords } from '../../words/words.ts';

export function Empty({ view }: { view: View }) {
	const w = useWords();
	const line = `curl ${location.origin}/api/v1/proposals -H "Authorization: Bearer $TOKEN" \\\n  --json '{"tool": "note.create", "input": {"title": "Hello", "text": "From an agent."}}'`;
	return (
		<div class="empty">
			<h3>{w.inbox.empty[view]}</h3>
			{view !== 'approved' && (
				<>
					<p>{w.inbox.empty.text}</p>
					<p><a class="button primary" href={pagePath('start')} onClick={follow}>{w.start.offer}</a></p>
					<p>{w.inbox.empty.try}</p>
					<pre class="sample">{line}</pre>
					<p><Copy text={line} /></p>
					<p>{w.inbox.empty.mcp} <code>{location.origin}/mcp</code></p>
				</>
			)}
		</div>
	);
}
