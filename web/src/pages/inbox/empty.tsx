// SPDX-License-Identifier: Apache-2.0
// Nothing to do: a good moment to say how something comes here.
import { useState } from 'preact/hooks';

import type { View } from '../../lib/route.ts';
import { useWords } from '../../words/words.ts';

function Copy({ text }: { text: string }) {
	const w = useWords();
	const [done, setDone] = useState(false);
	const copy = () => navigator.clipboard.writeText(text).then(() => setDone(true), () => {});
	return <button type="button" onClick={copy}>{done ? w.copied : w.copy}</button>;
}

export function Empty({ view }: { view: View }) {
	const w = useWords();
	const line = `curl ${location.origin}/api/v1/proposals -H "Authorization: Bearer $TOKEN" \\\n  --json '{"tool": "note.create", "input": {"title": "Hello", "text": "From an agent."}}'`;
	return (
		<div class="empty">
			<h3>{w.inbox.empty[view]}</h3>
			{view !== 'approved' && (
				<>
					<p>{w.inbox.empty.text}</p>
					<p>{w.inbox.empty.try}</p>
					<pre class="sample">{line}</pre>
					<p><Copy text={line} /></p>
					<p>{w.inbox.empty.mcp} <code>{location.origin}/mcp</code></p>
				</>
			)}
		</div>
	);
}
