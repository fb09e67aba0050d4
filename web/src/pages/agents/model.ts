// SPDX-License-Identifier: Apache-2.0
// What the server says about agents, as far as these pages look at it.
import type { Effect } from '../../lib/model.ts';

export const DOMAINS = ['operations', 'chat', 'sales', 'accounting', 'marketing', 'project-management'] as const;

export interface Agent {
	id: string;
	name: string;
	domain: string;
	disabled: boolean;
	createdAt: string;
}

export const TIERS = ['always_allow', 'needs_approval', 'blocked'] as const;
export type Tier = (typeof TIERS)[number];

/** One cell of the matrix; stored: somebody said so, otherwise it is the tool's default. */
export interface Permission {
	toolName: string;
	permissionStatus: Tier;
	stored: boolean;
}

export interface Tool {
	name: string;
	title: string;
	description: string;
	effect: Effect;
	category: 'A' | 'B' | 'C';
	provider: string;
}

export interface Token {
	id: string;
	name: string;
	hint: string;
	principalId: string;
	delegatorId?: string;
	level: string;
	rules: string[];
	actions?: string[];
	productionActions?: string[];
	approvalRequired: boolean;
	expiresAt: string;
	revokedAt?: string;
	createdAt: string;
	clientId?: string;
}

export interface Minted extends Token {
	token: string;
	warnings?: string[];
}

export interface Override {
	agentId: string;
	toolName: string;
	createdAt: string;
}
