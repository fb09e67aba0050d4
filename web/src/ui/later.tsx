// SPDX-License-Identifier: Apache-2.0
// A page whose script is still on its way. It stays once it is there.
import { useEffect, useState } from 'preact/hooks';

import { ApiError } from '../lib/api.ts';
import type { PageName } from '../lib/route.ts';
import type { Page, PageView } from '../pages/pages.ts';
import { useWords } from '../words/words.ts';
import { Failure } from './notice.tsx';

const loaded = new Map<PageName, PageView>();

export function Later({ page, path }: { page: Page; path: readonly string[] }) {
	const w = useWords();
	const [, again] = useState(0);
	const [failed, setFailed] = useState(false);
	useEffect(() => {
		if (loaded.has(page.name)) return;
		page.load().then((module) => {
			loaded.set(page.name, module.default);
			again((n) => n + 1);
		}, () => setFailed(true));
	}, [page]);
	const View = loaded.get(page.name);
	if (View) return <View path={path} />;
	// A newer server has other files: only a fresh start knows their names.
	if (failed) return <div class="pad"><Failure error={new ApiError('offline', '', 0)} retry={() => location.reload()} /></div>;
	return <p class="quiet pad" role="status">{w.loading}</p>;
}
