// SPDX-License-Identifier: Apache-2.0
// Flags, configs and segments, as far as these pages look at them (docs/flags.md).
import type { Json } from '../../lib/canon.ts';

export const KINDS = ['flags', 'configs', 'segments'] as const;
export type Kind = (typeof KINDS)[number];
/** As proposals and audit entries call it. */
export const singular = (kind: Kind): 'flag' | 'config' | 'segment' => kind.slice(0, -1) as 'flag';

export interface Project {
	id: string;
	key: string;
	name: string;
	effectiveTargetIdField: string;
}
export interface Environment {
	id: string;
	key: string;
	name: string;
	version: number;
	production: boolean;
	approvalGate: boolean;
}

export type Condition = { [key: string]: Json };
export interface Rule {
	if?: Condition;
	value?: Json;
	rolloutPercent?: number;
	description?: string;
	salt?: string;
}

export interface Item {
	key: string;
	type?: 'boolean' | 'string' | 'number' | 'json';
	description: string;
	jsonSchema?: Json;
	defaultValue?: Json;
	rules: Rule[];
	allowList?: string[];
	denyList?: string[];
	updatedAt: string;
}

/** Of which types a thing can be; a segment has none. */
export const typesOf = (kind: Kind): readonly NonNullable<Item['type']>[] => ({ flags: ['boolean', 'string'] as const, configs: ['string', 'number', 'boolean', 'json'] as const, segments: [] as const })[kind];

/** What an environment says of an item: all that an editor changes. */
export type State = Pick<Item, 'defaultValue' | 'rules' | 'allowList' | 'denyList'>;
export const stateOf = (kind: Kind, item: Item): State => (kind === 'segments' ? { rules: item.rules, allowList: item.allowList ?? [], denyList: item.denyList ?? [] } : { defaultValue: item.defaultValue ?? null, rules: item.rules });

/** What a rule says where it matches; for somebody who just added one. */
export const firstValue = (item: Pick<Item, 'type'>, yes = true): Json => ({ boolean: yes, string: '', number: 0, json: {} })[item.type ?? 'boolean'];

const TEXT = ['$startsWith', '$endsWith', '$contains', '$matches', '$semverEq', '$semverGt', '$semverGte', '$semverLt', '$semverLte', '$before', '$after'] as const;
const NUMBER = ['$numEq', '$numGt', '$numGte', '$numLt', '$numLte'] as const;
const SCALAR = ['$equals', '$notEquals', '$gt', '$gte', '$lt', '$lte'] as const;
const LIST = ['$in', '$notIn', '$cidr'] as const;
export const OPERATORS = ['$equals', '$notEquals', '$in', '$notIn', '$exists', '$startsWith', '$endsWith', '$contains', '$matches', '$gt', '$gte', '$lt', '$lte', ...NUMBER, '$semverEq', '$semverGt', '$semverGte', '$semverLt', '$semverLte', '$cidr', '$before', '$after', '$bucket'] as const;
export type Operator = (typeof OPERATORS)[number];

export type Takes = 'text' | 'number' | 'scalar' | 'list' | 'yes' | 'json';
const has = (list: readonly string[], name: string) => list.includes(name);
export function takes(operator: string): Takes {
	if (has(TEXT, operator)) return 'text';
	if (has(NUMBER, operator)) return 'number';
	if (has(SCALAR, operator)) return 'scalar';
	if (has(LIST, operator)) return 'list';
	return operator === '$exists' ? 'yes' : 'json';
}

/** The value to begin with, kept from the operator before where it makes sense. */
export function firstOperand(operator: string, before: Json | undefined): Json {
	const kind = takes(operator), text = typeof before === 'string' ? before : Array.isArray(before) && typeof before[0] === 'string' ? before[0] : '';
	if (kind === 'yes') return true;
	if (kind === 'number') return typeof before === 'number' ? before : 0;
	if (kind === 'list') return Array.isArray(before) ? before : before === undefined || typeof before === 'boolean' ? [] : [before];
	if (kind === 'json') return { of: 100, below: 10 };
	return kind === 'scalar' && before !== undefined && !Array.isArray(before) && typeof before !== 'object' ? before : text;
}
