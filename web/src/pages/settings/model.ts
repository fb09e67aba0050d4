// SPDX-License-Identifier: Apache-2.0
// What the server says about the organization, as far as these pages look at it.
import type { Effect, Risk } from '../../lib/model.ts';

export interface Member {
	id: string;
	kind: 'user' | 'service';
	name: string;
	email?: string;
	roles: string[];
	disabled: boolean;
	link?: string; // of a new person, once
}

export const LEVELS = ['observer', 'proposer', 'operator', 'maintainer', 'admin'] as const;

export interface Role {
	id: string;
	name: string;
	level: string;
	rules: string[];
	builtin: boolean;
}

export interface Team {
	id: string;
	name: string;
	members: string[];
	grants: { resourceType: string; resourceId: string; verb: string }[];
}

export interface Group {
	teamId: string;
	votes?: number;
	risk?: Risk;
	effect?: Effect;
	production?: boolean;
	tools?: string[];
}

export interface Policy {
	votesLow: number;
	votesMedium: number;
	votesHigh: number;
	votesDestructive: number;
	fourEyes: boolean;
	overrides: boolean;
	autoExecute: boolean;
	gdpr: boolean;
	hipaa: boolean;
	allowListed: string[];
	groups: Group[];
}

export interface PolicyDocument {
	policyVersion: number;
	policy: Policy;
}

export interface Explained {
	verdict: 'refuse' | 'ask' | 'run';
	reasons: string[];
	risk: { level: Risk; reasons: string[] };
	votes: number;
	groups: { teamId: string; team: string; votes: number }[];
	fourEyes: boolean;
	permissionStatus: 'always_allow' | 'needs_approval' | 'blocked';
}
