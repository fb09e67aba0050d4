// SPDX-License-Identifier: Apache-2.0
// The chain of authority as a drawing: who let whom do what, from the person to the change. Beside each other on a wide
// screen, one below the other on a narrow one. The same chain is the drawing's description, for who cannot see it.
import { useEffect, useState } from 'preact/hooks';

import { useStore } from '../../lib/store.ts';
import { visible } from '../../lib/visible.ts';
import { language, useWords } from '../../words/words.ts';
import type { Words } from '../../words/en.ts';
import type { Entry } from './model.ts';
import type { Names } from './names.ts';

export type Role = keyof Words['audit']['chain']['roles'];
export interface Link {
	role: Role;
	name: string;
	note?: string; // a decision, a time
	here?: boolean; // the entry that is being looked at
	tone?: 'good' | 'bad';
}
/** Each step is one link, or several side by side: people who voted, things that changed. */
export type Chain = Link[][];

const short = (id: string): string => `…${id.slice(-8)}`;

/** From the entries of one proposal, or the single entry where there is none. */
export function chainOf(w: Words, lang: string, entry: Entry, story: readonly Entry[], names: Names): Chain {
	const here = (one: Entry) => one.id === entry.id;
	const at = (one: Entry) => new Intl.DateTimeFormat(lang, { dateStyle: 'short', timeStyle: 'short' }).format(new Date(one.time));
	const created = story.find((one) => one.action === 'proposal.created') ?? entry;
	const chain: Chain = [];
	const actor = created.actorId;
	if (created.delegatorId) chain.push([{ role: 'delegator', name: names.of(created.delegatorId) }]);
	if (created.delegatorId || created.actorType === 'api_token') {
		if (!created.delegatorId && actor) chain.push([{ role: 'person', name: names.of(actor) }]);
		if (created.tokenId) chain.push([{ role: 'token', name: short(created.tokenId) }]);
	}
	if (created.agentId) chain.push([{ role: 'agent', name: names.of(created.agentId) }]);
	else if (actor && created.actorType === 'user') chain.push([{ role: 'person', name: names.of(actor) }]);
	else if (!actor) chain.push([{ role: 'system', name: w.audit.actorTypes['system'] ?? '' }]);
	if (entry.proposalId) chain.push([{ role: 'proposal', name: created.tool ?? short(entry.proposalId), note: at(created), here: created === entry }]);
	const votes = story.filter((one) => one.action === 'proposal.approved' || one.action === 'proposal.denied');
	if (votes.length > 0) chain.push(votes.map((one) => ({ role: one.action === 'proposal.approved' ? 'approver' : 'denier', name: names.of(one.actorId ?? ''), note: at(one), here: here(one), tone: one.action === 'proposal.approved' ? 'good' : 'bad' })));
	const end = story.find((one) => /^proposal\.(applied|failed|unknown|cancelled|expired)$/.test(one.action));
	if (end?.applierId) chain.push([{ role: 'applier', name: names.of(end.applierId), note: at(end) }]);
	const done = story.filter((one) => !one.action.startsWith('proposal.'));
	if (done.length > 0) chain.push(done.map((one) => ({ role: 'change', name: `${one.resourceType ?? ''} ${one.resourceKey && one.resourceKey !== one.resourceId ? one.resourceKey : short(one.resourceId ?? one.id)}`, note: w.audit.actions[one.action] ?? one.action, here: here(one), tone: 'good' })));
	else if (end) chain.push([{ role: 'end', name: w.audit.actions[end.action] ?? end.action, note: at(end), here: here(end), tone: end.action === 'proposal.applied' ? 'good' : 'bad' }]);
	return chain;
}

const wide = matchMedia('(min-width: 62rem)');
function useWide(): boolean {
	const [now, setNow] = useState(wide.matches);
	useEffect(() => {
		const hear = () => setNow(wide.matches);
		wide.addEventListener('change', hear);
		return () => wide.removeEventListener('change', hear);
	}, []);
	return now;
}

const SIGNS: Record<Role, string> = {
	delegator: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm-7 8c0-3.5 3-6 7-6s7 2.500 7 6',
	person: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm-7 8c0-3.5 3-6 7-6s7 2.500 7 6',
	token: 'M9 15a4.500 4.500 0 1 1 3.200-7.700A4.500 4.500 0 0 1 13 12h7v3m-3-3v2',
	agent: 'M6 9h12v10H6zM12 9V5m0 0a1 1 0 1 0 0-.1M9.500 13v1.500m5-1.500v1.500',
	proposal: 'M7 3.500h7l4 4V20H7zM10 12h5m-5 3.500h5',
	approver: 'M5 12.500l4.500 4.500L19 7',
	denier: 'M6 6l12 12M18 6L6 18',
	applier: 'M8 5l11 7-11 7z',
	change: 'M5 8h14M5 12h9M5 16h11',
	end: 'M5 8h14M5 12h9M5 16h11',
	system: 'M12 8.500a3.500 3.500 0 1 0 0 7 3.500 3.500 0 0 0 0-7ZM12 3v3m0 12v3M3 12h3m12 0h3',
};

const R = 20;
const COLUMN = 150, ROW = 104, LEFT = 75; // beside each other
const STEP = 78; // one below the other
const MOST = 18; // letters of a name that fit

const clip = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

function Node({ link, x, y, flat }: { link: Link; x: number; y: number; flat: boolean }) {
	const w = useWords();
	const name = visible(link.name, false), most = flat ? MOST : 34;
	return (
		<g class={`link-node ${link.here ? 'is-here' : ''} ${link.tone ?? ''}`}>
			<title>{`${w.audit.chain.roles[link.role]}: ${name}`}</title>
			<circle cx={x} cy={y} r={R} />
			<path d={SIGNS[link.role]} transform={`translate(${x - 12} ${y - 12})`} />
			{flat ? (
				<text x={x} y={y + R + 16} text-anchor="middle"><tspan class="link-role">{w.audit.chain.roles[link.role]}</tspan><tspan class="link-name" x={x} dy="17">{clip(name, most)}</tspan>{link.note && <tspan class="link-note" x={x} dy="15">{clip(link.note, 26)}</tspan>}</text>
			) : (
				<text x={x + R + 14} y={y - 10}><tspan class="link-role">{w.audit.chain.roles[link.role]}</tspan><tspan class="link-name" x={x + R + 14} dy="17">{clip(name, most)}</tspan>{link.note && <tspan class="link-note" x={x + R + 14} dy="15">{clip(link.note, 40)}</tspan>}</text>
			)}
		</g>
	);
}

interface Place {
	link: Link;
	x: number;
	y: number;
}

function lay(chain: Chain, flat: boolean): { steps: Place[][]; width: number; height: number } {
	if (!flat) {
		let row = 0;
		const steps = chain.map((step) => step.map((link) => ({ link, x: 26, y: 30 + STEP * row++ })));
		return { steps, width: 320, height: STEP * row };
	}
	const most = Math.max(...chain.map((step) => step.length));
	const middle = (most * ROW) / 2 - 30;
	const steps = chain.map((step, i) => step.map((link, k) => ({ link, x: LEFT + i * COLUMN, y: middle + (k - (step.length - 1) / 2) * ROW })));
	return { steps, width: Math.max(chain.length * COLUMN, 300), height: most * ROW + 8 };
}

/** Lines between each of one step and each of the next; below each other, one line through all. */
function lines(steps: Place[][], flat: boolean): string[] {
	const all = steps.flat();
	if (!flat) return all.slice(1).map((to, i) => `M${all[i]!.x} ${all[i]!.y + R}V${to.y - R}`);
	return steps.slice(1).flatMap((step, i) => step.flatMap((to) => steps[i]!.map((from) => {
		const x1 = from.x + R + 5, x2 = to.x - R - 5, bend = (x2 - x1) / 2;
		return `M${x1} ${from.y}C${x1 + bend} ${from.y} ${x2 - bend} ${to.y} ${x2} ${to.y}`;
	})));
}

export function ChainView({ chain }: { chain: Chain }) {
	const w = useWords();
	useStore(language);
	const flat = useWide();
	const { steps, width, height } = lay(chain, flat);
	const described = chain.map((step) => step.map(({ role, name, note }) => `${w.audit.chain.roles[role]} ${visible(name, false)}${note ? ` (${note})` : ''}`).join(', ')).join(' → ');
	return (
		<div class="chain" tabIndex={0} role="group" aria-label={w.audit.chain.title}>
			<svg viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="img" aria-label={described}>
				{lines(steps, flat).map((d) => <path key={d} class="chain-line" d={d} />)}
				{steps.flat().map(({ link, x, y }, i) => <Node key={i} link={link} x={x} y={y} flat={flat} />)}
			</svg>
		</div>
	);
}
