// SPDX-License-Identifier: Apache-2.0
// What the server says about other systems, as far as these pages look at it, and their words.
import type { Json } from '../../lib/canon.ts';
import type { Effect } from '../../lib/model.ts';
import { useStore } from '../../lib/store.ts';
import { systemsEn, type SystemWords } from '../../words/systems.en.ts';
import { systemsEs } from '../../words/systems.es.ts';
import { language } from '../../words/words.ts';
import type { Tier } from '../agents/model.ts';

const all = { en: systemsEn, es: systemsEs };
export const useSystemWords = (): SystemWords => all[useStore(language)];

export interface Upstream {
	id: string;
	name: string;
	kind: 'http' | 'stdio';
	url?: string;
	state: 'active' | 'disabled';
	createdBy: string;
	createdAt: string;
	networks: string[];
	program?: { argv: string[]; paths?: { path: string; writable?: boolean }[]; directory?: string; network?: boolean };
	secrets: string[];
	authorization?: 'none' | 'needed' | 'given'; // OAuth, where it wants that
}

export type Contract = 'blind' | 'idempotent' | 'keyed' | 'probe';
export const CONTRACTS: readonly Contract[] = ['blind', 'idempotent', 'keyed', 'probe'];
export const EFFECTS: readonly Effect[] = ['read', 'mutate', 'destructive'];
export type Category = 'A' | 'B' | 'C';

export type JsonObject = { [key: string]: Json };
export const isObject = (value: Json | undefined): value is JsonObject => value !== null && typeof value === 'object' && !Array.isArray(value);

export interface Before {
	tool: string;
	arguments: Record<string, string>;
}

export interface UpstreamTool {
	name: string;
	remote: string;
	state: 'quarantined' | 'accepted' | 'gone';
	version: number; // 0: nobody has accepted it yet
	definition: Json;
	definitionHash: string;
	seenAt: string;
	diff?: { path: string; before?: Json; after?: Json }[];
	renamedFrom?: string;
	refused?: string;
	problem?: string;
	suggested?: { before?: Before };
	effect: Effect;
	tier: Tier;
	category: Category;
	rollbackSupported: boolean;
	financial: boolean;
	personalData: boolean;
	phi: boolean;
	failure: string;
	contract: Contract;
	deadlineMs: number;
	options: { before?: Before; dryRun?: string; probe?: string; [key: string]: Json | Before | undefined };
}

export interface Connection {
	id: string;
	name: string;
	url: string;
	mode: 'sync' | 'callback' | 'events';
	answer: 'json' | 'command';
	auth: 'none' | 'header' | 'bearer' | 'basic';
	authName: string;
	state: 'active' | 'disabled';
	createdBy: string;
	createdAt: string;
	hasSecret: boolean;
	needsSecret?: boolean; // its address was changed: nothing is sent before the credential is entered again
	rotating: boolean;
	deadlineMs: number;
	allow: string[];
	events: string[];
	signingSecret?: string;
}

export interface Declared {
	tool: string;
	version: number;
	title: string;
	description: string;
	effect: Effect;
	inputSchema: Json;
	outputSchema: Json;
	failure: string;
	contract: Contract;
	category: Category;
	domain: string;
	target: string;
	rollback: boolean;
	financial: boolean;
	personalData: boolean;
	phi: boolean;
	tier: Tier;
	deadlineMs: number;
	serverError: 'unknown' | 'refused';
	probe?: string;
	affects?: string;
}

export interface Delivery {
	eventId: string;
	type: string;
	subject: string;
	happenedAt: string;
	state: 'waiting' | 'dead';
	tries: number;
	dueAt: string;
	lastStatus: number;
	lastError: string;
}

export const upstreamPath = (id: string): string => `/api/v1/upstreams/${encodeURIComponent(id)}`;
export const connectionPath = (id: string): string => `/api/v1/connections/${encodeURIComponent(id)}`;

/** Lines or words that somebody typed. */
export const linesOf = (text: string): string[] => text.split('\n').map((line) => line.trim()).filter((line) => line !== '');
export const wordsOf = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== '');
