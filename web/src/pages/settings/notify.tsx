// SPDX-License-Identifier: Apache-2.0
import { useState } from 'preact/hooks';

import { canNotify, notifying, wantNotices } from '../../lib/notify.ts';
import { useStore } from '../../lib/store.ts';
import { useWords } from '../../words/words.ts';

export function Notices() {
	const w = useWords();
	const on = useStore(notifying);
	const [refused, setRefused] = useState(false);
	const change = async (wanted: boolean) => {
		if (!wanted) return notifying.set(false);
		setRefused(!(await wantNotices()));
	};
	return (
		<section class="panel" aria-labelledby="notices-title">
			<div class="panel-head"><div><h3 id="notices-title">{w.settings.notices}</h3><p class="fine">{w.settings.noticesText}</p></div></div>
			<div class="panel-body">
				<label class="check"><input type="checkbox" checked={on} disabled={!canNotify} onChange={(event) => void change(event.currentTarget.checked)} /> {w.settings.noticesOn}</label>
				{refused && <p class="bad-text" role="alert">{w.settings.noticesRefused}</p>}
			</div>
		</section>
	);
}
