// SPDX-License-Identifier: Apache-2.0
// The whole log as a file: the server's pages one after the other, all of one checkpoint.
import { ask, askFile } from '../../lib/api.ts';
import { logPath } from './model.ts';

const PAGE = 5000; // the server's own limit

export async function exportLog(slug: string, format: 'jsonl' | 'csv', onPart: (part: number) => void): Promise<void> {
	const { size } = await ask<{ size: number }>('GET', logPath(slug, '/checkpoint'));
	const parts: Blob[] = [];
	for (let from = 0; from < size; from += PAGE) {
		parts.push(await askFile(logPath(slug, `/export?format=${format}&size=${size}&from=${from}&limit=${PAGE}`)));
		onPart(Math.min(1, (from + PAGE) / size));
	}
	const address = URL.createObjectURL(new Blob(parts, { type: 'application/octet-stream' }));
	const link = document.createElement('a');
	link.href = address;
	link.download = `audit-${slug}-${size}.${format}`;
	link.click();
	setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
