// SPDX-License-Identifier: Apache-2.0
// "Verify": what this browser computed, step by step, and what that means.
import { useState } from 'preact/hooks';

import { ask } from '../../lib/api.ts';
import { Failure } from '../../ui/notice.tsx';
import { Raw } from '../../ui/text.tsx';
import { useWords } from '../../words/words.ts';
import { logPath, type Entry } from './model.ts';
import { CHECKS, forget, verify, type Checks, type Proof, type Verdict } from './verify.ts';

const SIGN: Record<Verdict, string> = { good: '✓', first: '✓', bad: '✗', unable: '–' };

interface Result {
	checks: Checks;
	proof: Proof;
	key: string;
}

async function run(slug: string, entry: Entry): Promise<Result> {
	const [proof, { key }] = await Promise.all([ask<Proof>('GET', logPath(slug, `/${encodeURIComponent(entry.id)}/proof`)), ask<{ key: string }>('GET', logPath(slug, '/checkpoint'))]);
	const grown = (from: number, to: number) => ask<{ path: string[] }>('GET', logPath(slug, `/consistency?from=${from}&to=${to}`));
	return { checks: await verify({ entry, proof, key, grown }), proof, key };
}

function Outcome({ result }: { result: Result }) {
	const w = useWords();
	const { checks, proof, key } = result;
	const bad = CHECKS.some((name) => checks[name] === 'bad'), partly = checks.signature === 'unable';
	return (
		<>
			<div class={`notice ${bad ? 'bad' : partly ? 'info' : 'good'}`} role={bad ? 'alert' : 'status'}><p><strong>{bad ? w.audit.verify.failed : partly ? w.audit.verify.partly : w.audit.verify.verified}</strong></p></div>
			<ul class="checks">
				{CHECKS.map((name) => (
					<li key={name} class={`check-${checks[name]}`}><span aria-hidden="true">{SIGN[checks[name]]}</span><span>{w.audit.verify.checks[name][checks[name]]}</span></li>
				))}
			</ul>
			<details class="proof">
				<summary>{w.audit.verify.bytes}</summary>
				<pre class="value" tabIndex={0}><Raw of={`${proof.checkpoint}\n${key}\n\n${w.audit.verify.place(proof.leafIndex, proof.size)}\n${proof.path.join('\n')}\n\n${proof.leaf}`} /></pre>
			</details>
		</>
	);
}

export function Verify({ slug, entry }: { slug: string; entry: Entry }) {
	const w = useWords();
	const [state, setState] = useState<{ result: Result | null; error: unknown; working: boolean }>({ result: null, error: null, working: false });
	const start = async () => {
		setState({ result: null, error: null, working: true });
		await run(slug, entry).then((result) => setState({ result, error: null, working: false }), (error: unknown) => setState({ result: null, error, working: false }));
	};
	const { result, error, working } = state;
	const other = result !== null && (result.checks.key === 'bad' || result.checks.growth === 'bad');
	return (
		<section class="panel" aria-labelledby="verify-title">
			<div class="panel-head">
				<div><h3 id="verify-title">{w.audit.verify.title}</h3><p class="fine">{w.audit.verify.lead}</p></div>
				<button type="button" class="primary" disabled={working} onClick={() => void start()}>{working ? w.act.working : w.audit.verify.button} <kbd>V</kbd></button>
			</div>
			{(result || error !== null) && (
				<div class="panel-body">
					{error !== null && <Failure error={error} retry={() => void start()} />}
					{result && <Outcome result={result} />}
					{other && <p><button type="button" onClick={() => { forget(entry.orgId); void start(); }}>{w.audit.verify.forget}</button> <span class="fine">{w.audit.verify.forgetHint}</span></p>}
				</div>
			)}
		</section>
	);
}
