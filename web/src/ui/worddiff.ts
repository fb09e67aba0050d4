// SPDX-License-Identifier: Apache-2.0
// Which words of two texts differ: the longest common sequence, for texts short enough to compare at once.
export interface Piece {
	text: string;
	differs: boolean;
}

const MOST = 600; // words of a side: beyond, the two texts stand as they are

const split = (text: string): string[] => text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];

function lengths(a: string[], b: string[]): Uint16Array[] {
	const table = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
	for (let i = a.length - 1; i >= 0; i--)
		for (let j = b.length - 1; j >= 0; j--) table[i]![j] = a[i] === b[j] ? table[i + 1]![j + 1]! + 1 : Math.max(table[i + 1]![j]!, table[i]![j + 1]!);
	return table;
}

function add(pieces: Piece[], text: string, differs: boolean): void {
	const last = pieces.at(-1);
	if (last && last.differs === differs) last.text += text;
	else pieces.push({ text, differs });
}

export function wordDiff(before: string, after: string): { before: Piece[]; after: Piece[] } {
	const a = split(before), b = split(after);
	if (a.length > MOST || b.length > MOST) return { before: [{ text: before, differs: false }], after: [{ text: after, differs: false }] };
	const table = lengths(a, b), out = { before: [] as Piece[], after: [] as Piece[] };
	let i = 0, j = 0;
	while (i < a.length || j < b.length) {
		if (i < a.length && j < b.length && a[i] === b[j]) {
			add(out.before, a[i++]!, false);
			add(out.after, b[j++]!, false);
		} else if (j >= b.length || (i < a.length && table[i + 1]![j]! >= table[i]![j + 1]!)) add(out.before, a[i++]!, true);
		else add(out.after, b[j++]!, true);
	}
	return out;
}
