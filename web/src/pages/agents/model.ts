// SPDX-License-Identifier: Apache-2.0
// What the server says about agents, as far as these pages look at it.
export const DOMAINS = ['operations', 'chat', 'sales', 'accounting', 'marketing', 'project-management'] as const;

export interface Agent {
	id: string;
	name: string;
	domain: string;
	disabled: boolean;
	createdAt: string;
}
