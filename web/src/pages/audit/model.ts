// SPDX-License-Identifier: Apache-2.0
// An entry of the log as the server gives it: every column that is not empty, and the time as text.
import type { Json } from '../../lib/canon.ts';

export const ACTORS = ['user', 'agent_token', 'api_token', 'system'] as const;
export type Actor = (typeof ACTORS)[number];

export interface Entry {
	id: string;
	orgId: string;
	action: string;
	actorType: Actor;
	at: number;
	time: string;
	actorId?: string;
	agentId?: string;
	applierId?: string;
	approvers?: string[];
	decision?: string;
	delegatorId?: string;
	outcome?: string;
	proposalId?: string;
	reason?: string;
	resourceId?: string;
	resourceKey?: string;
	resourceType?: string;
	risk?: 'low' | 'medium' | 'high';
	tokenId?: string;
	tool?: string;
	withOverride?: boolean;
}

export interface Found {
	entry: Entry;
	values: { state: 'none' | 'present' | 'erased' | 'broken'; before?: Json; after?: Json; diff?: { path: string; before?: Json; after?: Json }[] };
	leafIndex?: number;
}

export const logPath = (slug: string, rest = ''): string => `/api/v1/orgs/${encodeURIComponent(slug)}/audit${rest}`;
