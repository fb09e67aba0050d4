// SPDX-License-Identifier: Apache-2.0
// What the server says about proposals, as far as the console looks at it.
import type { Json } from './canon.ts';

export const STATES = ['pending', 'approved', 'executing', 'applied', 'failed', 'unknown', 'denied', 'cancelled', 'expired'] as const;
export type State = (typeof STATES)[number] | 'tampered';
export type Risk = 'low' | 'medium' | 'high';
export type Effect = 'read' | 'mutate' | 'destructive';

export interface Row {
	proposalId: string;
	status: State;
	tool: string;
	effect: Effect;
	summary: string;
	risk: { level: Risk; reasons: string[] };
	viewHash: string;
	proposer: { id: string; kind: string; name: string; onBehalfOf?: string };
	createdAt: string;
	expiresAt: string;
	targetSystem: string;
	resource: { type: string; key: string; environment: string };
}

export interface Vote {
	personId: string;
	name: string;
	decision: 'approved' | 'denied' | 'denied_with_reason';
	reason?: string;
	viaToken: boolean;
	counts: boolean;
	why?: string; // an approval does not count
	at: string;
}

export type Change =
	| { kind: 'update'; diff: { path: string; before?: Json; after?: Json }[] }
	| { kind: 'create'; after: Json }
	| { kind: 'delete'; before: Json }
	| { kind: 'call'; input: Json }
	| { kind: 'erased' };

export interface RecentContexts {
	sentence: string;
	contexts?: number;
	changed?: number;
	changes?: { before: Json; after: Json; contexts: number }[];
	groups?: { field: string; value: string; changed: number; contexts: number }[];
}

/** The canonical card: what a person decides on, and what viewHash is the hash of. */
export interface Card {
	summary: string;
	tool: { name: string; title: string; version: number };
	targetSystem: string;
	affectedData: string;
	effect: Effect;
	change: Change;
	resource: { type: string; key: string; environment: string };
	liveVersion?: number;
	blastRadius?: Json;
	recentContexts?: RecentContexts;
	execution?: { contract: string; promise: string; deadlineMs: number };
	source?: { id: string; name: string; address: string; [key: string]: Json }; // whose tool it is, where it is not ours
	preview?: { available?: boolean; says?: string; [key: string]: Json | undefined };
	risk: { level: Risk; reasons: string[] };
	rollbackSupported: boolean;
	failureImplications: string;
	askedBy: { id: string; kind: string; name: string; onBehalfOf?: string; agrees?: 'asking' | 'confirming' };
	approvers?: Json;
	expiresAt: number;
	policyVersion: number;
	payloadHash: string;
	warnings: string[];
	/** Which other member deceives, and how. */
	warningsOf?: Partial<Record<'tool' | 'targetSystem' | 'source' | 'askedBy' | 'approvers' | 'preview' | 'recentContexts' | 'failureImplications', string[]>>;
	agentSays: { summary: string; reasoning: string; warnings: string[] };
}

/** What came too late, or what a probe said. */
export interface Evidence {
	at: string;
	from: string;
	outcome: string; // what it says of the proposal
	question?: string; // where somebody was asked: what became of that
	why?: string;
	result?: Json;
}

export interface Proposal extends Omit<Row, 'targetSystem' | 'resource'> {
	/** What it said was taken out of it; hashes stay. */
	erased?: { at: string; why: string };
	state: State;
	toolVersion: number;
	payload: Json;
	payloadHash: string;
	card: Card;
	approvals: { needed: number; valid: number; fourEyes: boolean; proposerMayConfirm: boolean; groups: { team: string; needed: number; valid: number }[]; missing?: string; votes: Vote[] };
	result?: Json;
	attempt?: { claimedAt: string; endedAt?: string; evidence?: Evidence[]; [key: string]: Json | Evidence[] | undefined };
	reveal?: Json;
	error?: string;
	applierId?: string;
	appliedVersion?: number;
	resolvedAt?: string;
	apply?: { code: string; message: string; details?: Json };
}

export const isOpen = (state: State): boolean => state === 'pending' || state === 'approved';
