// SPDX-License-Identifier: Apache-2.0
// Several at once can be denied, never approved: to refuse is always safe.
import { useState } from 'preact/hooks';

import { ApiError, ask } from '../../lib/api.ts';
import type { Row } from '../../lib/model.ts';
import { visible } from '../../lib/visible.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Notice, say } from '../../ui/notice.tsx';
import { useWords } from '../../words/words.ts';

interface Props {
	rows: Row[];
	onClose: (denied: string[]) => void;
}

export function DenyMany({ rows, onClose }: Props) {
	const w = useWords();
	const [reason, setReason] = useState('');
	const [working, setWorking] = useState(false);
	const [denied, setDenied] = useState<string[]>([]);
	const [failed, setFailed] = useState<{ row: Row; why: string }[]>([]);
	const deny = async (event: Event) => {
		event.preventDefault();
		setWorking(true);
		const done: string[] = [], not: typeof failed = [];
		for (const row of rows) {
			try {
				await ask('POST', `/api/v1/proposals/${row.proposalId}/deny`, { viewHash: row.viewHash, ...(reason ? { reason } : {}) });
				done.push(row.proposalId);
			} catch (error) {
				not.push({ row, why: error instanceof ApiError && error.message ? error.message : w.errors.offline });
			}
		}
		if (done.length > 0) say(w.inbox.denied(done.length));
		if (not.length === 0) return onClose(done);
		setDenied(done);
		setFailed(not);
		setWorking(false);
	};
	if (failed.length > 0) {
		return (
			<Dialog title={w.inbox.notDenied(failed.length)} onClose={() => onClose(denied)}>
				<Notice tone="bad"><ul>{failed.map(({ row, why }) => <li key={row.proposalId}>{visible(row.summary, false)}: {visible(why)}</li>)}</ul></Notice>
				<div class="buttons"><button type="button" onClick={() => onClose(denied)}>{w.close}</button></div>
			</Dialog>
		);
	}
	return (
		<Dialog title={w.act.denyMany(rows.length)} onClose={() => !working && onClose([])}>
			<form onSubmit={deny}>
				<label>{w.act.reason}<textarea rows={3} maxLength={2000} value={reason} onInput={(event) => setReason(event.currentTarget.value)} autofocus /></label>
				<div class="buttons">
					<button type="button" onClick={() => onClose([])} disabled={working}>{w.close}</button>
					<button type="submit" class="danger" disabled={working}>{working ? w.act.working : w.act.deny}</button>
				</div>
			</form>
		</Dialog>
	);
}
