// SPDX-License-Identifier: Apache-2.0
// What is known of a call to another system before it is made (PA-2): how it is there now, what the call would make of
// it, how much calls like it named so far; or, honestly, that it cannot be known. Nothing of it is left out.
import type { Json } from '../../lib/canon.ts';
import type { Card } from '../../lib/model.ts';
import { Text, Value } from '../../ui/text.tsx';
import { sentence, useWords } from '../../words/words.ts';
import type { Words } from '../../words/en.ts';
import { ChangeView, Whole } from './diff.tsx';

type Preview = NonNullable<Card['preview']>;
type Changes = { path: string; before?: Json; after?: Json }[];

const CANNOT = 'It cannot be previewed: ';
const READ = /^This is what (.+) said before\. If it says something else when this is applied, nothing is sent\.$/s;
const HISTORY = /^The last (\d+) calls? like this named (\d+)(?: to (\d+))? things?; this one names (\d+)\.$/;

/** The server's sentence in the reader's language. */
function said(w: Words, text: string): string {
	const read = READ.exec(text);
	if (read) return w.card.readBefore(read[1]!);
	return text.startsWith(CANNOT) ? `${w.card.noPreview} ${sentence(w, text.slice(CANNOT.length))}` : sentence(w, text);
}

function past(w: Words, text: string): string {
	const [, calls, least, most, now] = HISTORY.exec(text) ?? [];
	return calls ? w.card.history(Number(calls), Number(least), Number(most ?? least), Number(now)) : text;
}

const isChanges = (value: Json | undefined): value is Json[] & Changes => Array.isArray(value) && value.length > 0 && value.every((one) => one !== null && typeof one === 'object' && !Array.isArray(one) && typeof one['path'] === 'string');

function State({ of }: { of: Preview }) {
	const w = useWords();
	const { before, changes, beforeBytes, beforeHash } = of;
	return (
		<>
			{isChanges(changes) && <div class="preview-part"><h4>{w.card.inCall}</h4><ChangeView change={{ kind: 'update', diff: changes }} /></div>}
			{before !== undefined && <div class="preview-part"><h4>{w.card.stateNow}</h4><Whole of={before} kind="call" /></div>}
			{typeof beforeBytes === 'number' && <p>{w.card.stateNow}: {w.card.stateTooLarge(beforeBytes)} <code class="hash"><Text of={String(beforeHash)} /></code></p>}
		</>
	);
}

const KNOWN = ['available', 'says', 'history', 'unusual', 'before', 'changes', 'beforeBytes', 'beforeHash', 'digest', 'dryRun'];

export function PreviewView({ of }: { of: Preview }) {
	const w = useWords();
	const { says, history, unusual, dryRun } = of;
	const rest = Object.entries(of).filter(([key, value]) => value !== undefined && !KNOWN.includes(key));
	return (
		<section class="preview" aria-labelledby="preview-title">
			<h3 id="preview-title">{w.card.preview}</h3>
			{says && <p class={of.available === false ? 'cannot' : ''}><Text of={said(w, says)} /></p>}
			{typeof history === 'string' && <p class={unusual === true ? 'unusual' : 'quiet'}>{unusual === true && <strong>▲ {w.card.unusual}: </strong>}<Text of={past(w, history)} /></p>}
			<State of={of} />
			{dryRun !== undefined && <div class="preview-part"><h4>{w.card.dryRun}</h4><Whole of={dryRun} kind="call" /></div>}
			{rest.length > 0 && <Value of={Object.fromEntries(rest) as Json} />}
			{typeof of['digest'] === 'string' && <p class="fine">SHA-256 <code class="hash"><Text of={of['digest']} /></code></p>}
		</section>
	);
}
