// SPDX-License-Identifier: Apache-2.0
// Text as a person will really see it (AP-7). The server has done this to every card; names, reasons and the raw
// payload go through here. Characters that hide, reorder or imitate are shown by number and never dropped.
import type { Json } from './canon.ts';

const HIDDEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800\uFFFC\u0334-\u0338\u20D2-\u20D3\u20D8-\u20DA\u20DD-\u20E0\u20E4-\u20E6\u20EA\u20EB\u{1D159}]/gu;

export function visible(text: string, lines = true): string {
	return text.replace(HIDDEN, (c) => (lines && (c === '\n' || c === '\t') ? c : `\\u{${c.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}}`));
}

/** What stands for a hidden character, in a text that was made visible: every second part is one. */
export const shownHidden = (text: string): string[] => text.split(/(\\u\{[0-9A-F]{2,6}\})/);

/** A document whose texts and names nobody has made visible yet. */
export function visibleJson(value: Json): Json {
	if (typeof value === 'string') return visible(value);
	if (Array.isArray(value)) return value.map(visibleJson);
	if (value !== null && typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([key, one]) => [visible(key), visibleJson(one)]));
	return value;
}
