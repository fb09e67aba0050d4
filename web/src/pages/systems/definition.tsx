// SPDX-License-Identifier: Apache-2.0
// What a server says of a tool, for reading: its words, its arguments, what it claims of itself. All of it was written
// by somebody else: it is text and nothing but text, and what hides in it is shown.
import type { Json } from '../../lib/canon.ts';
import { visibleJson } from '../../lib/visible.ts';
import { Raw, Value } from '../../ui/text.tsx';
import { isObject, useSystemWords, type JsonObject, type UpstreamTool } from './model.ts';

interface Argument {
	name: string;
	kind: string;
	needed: boolean;
	text: string;
}

const DEEPEST = 3; // beyond, it is in all of the definition

function kindOf(schema: JsonObject): string {
	if (Array.isArray(schema['enum'])) return schema['enum'].map((one) => JSON.stringify(one)).join(' | ');
	if ('const' in schema) return JSON.stringify(schema['const']);
	const type = Array.isArray(schema['type']) ? schema['type'].join(' | ') : typeof schema['type'] === 'string' ? schema['type'] : 'JSON';
	return type === 'array' && isObject(schema['items']) ? `${kindOf(schema['items'])}[]` : type;
}

/** The arguments of a schema, those inside of others by their path. */
function argumentsOf(schema: Json | undefined, under = '', depth = 0): Argument[] {
	if (!isObject(schema) || !isObject(schema['properties']) || depth >= DEEPEST) return [];
	const needed = Array.isArray(schema['required']) ? schema['required'] : [];
	return Object.entries(schema['properties']).flatMap(([key, of]) => {
		const one = isObject(of) ? of : {}, name = under + key;
		return [{ name, kind: kindOf(one), needed: needed.includes(key), text: typeof one['description'] === 'string' ? one['description'] : '' }, ...argumentsOf(one, `${name} › `, depth + 1)];
	});
}

/** The names of a tool's own arguments. */
export const argumentNames = (definition: Json): string[] => {
	const schema = isObject(definition) ? definition['inputSchema'] : undefined;
	return isObject(schema) && isObject(schema['properties']) ? Object.keys(schema['properties']) : [];
};
export const neededNames = (definition: Json): string[] => {
	const schema = isObject(definition) ? definition['inputSchema'] : undefined, needed = isObject(schema) ? schema['required'] : [];
	return Array.isArray(needed) ? needed.filter((one): one is string => typeof one === 'string') : [];
};

function Arguments({ of }: { of: Argument[] }) {
	const s = useSystemWords();
	if (of.length === 0) return <p class="quiet">{s.tool.noArguments}</p>;
	return (
		<div class="wide-table" tabIndex={0} role="group" aria-label={s.tool.arguments}><table class="table arguments">
			<thead><tr><th scope="col">{s.tool.argument}</th><th scope="col">{s.tool.kind}</th><th scope="col">{s.tool.meaning}</th></tr></thead>
			<tbody>{of.map((one) => (
				<tr key={one.name}>
					<th scope="row"><code><Raw of={one.name} lines={false} /></code>{one.needed && <div class="fine">{s.tool.needed}</div>}</th>
					<td><code><Raw of={one.kind} lines={false} /></code></td>
					<td class="pre">{one.text ? <Raw of={one.text} /> : <span class="quiet">—</span>}</td>
				</tr>
			))}</tbody>
		</table></div>
	);
}

/** What it claims of itself; shown, and never believed. */
function Claims({ of }: { of: Json | undefined }) {
	const s = useSystemWords();
	const claims = isObject(of) ? Object.entries(of) : [];
	if (claims.length === 0) return <p class="quiet">{s.tool.noClaims}</p>;
	const text = ([key, value]: [string, Json]): string => {
		const claim = Object.hasOwn(s.tool.annotations, key) ? s.tool.annotations[key] : undefined;
		if (claim === undefined || typeof value !== 'boolean') return `${key}: ${JSON.stringify(value)}`;
		return value ? claim : s.tool.not(claim);
	};
	return <div><p class="fine">{s.tool.claims}</p><ul>{claims.map((one) => <li key={one[0]}><Raw of={text(one)} lines={false} /></li>)}</ul></div>;
}

const textOf = (definition: Json, key: string): string => {
	const value = isObject(definition) ? definition[key] : undefined;
	return typeof value === 'string' ? value : '';
};
export const titleOf = (tool: UpstreamTool): string => textOf(tool.definition, 'title') || tool.remote;

export function Definition({ of: tool }: { of: UpstreamTool }) {
	const s = useSystemWords();
	const { definition } = tool, description = textOf(definition, 'description');
	return (
		<section class="says" aria-label={`${s.tool.says}: ${tool.remote}`}>
			<h4>{s.tool.says}</h4>
			{description ? <blockquote class="pre"><Raw of={description} /></blockquote> : <p class="quiet">{s.tool.noDescription}</p>}
			<Arguments of={argumentsOf(isObject(definition) ? definition['inputSchema'] : undefined)} />
			<Claims of={isObject(definition) ? definition['annotations'] : undefined} />
			<p class="fine">{s.tool.saysNote}</p>
		</section>
	);
}

export function Whole({ of: tool }: { of: UpstreamTool }) {
	const s = useSystemWords();
	return (
		<details class="proof">
			<summary>{s.tool.whole}</summary>
			<Value of={visibleJson(tool.definition)} />
			<p class="fine">{s.tool.hash} <code class="hash">{tool.definitionHash}</code></p>
		</details>
	);
}
