// SPDX-License-Identifier: Apache-2.0
import { useStore } from '../lib/store.ts';
import { language, languages, theme, themes, useWords, type Language, type Theme } from '../words/words.ts';

export function Preferences() {
	const w = useWords();
	const now = useStore(theme), spoken = useStore(language);
	return (
		<div class="preferences">
			<label>{w.language}
				<select value={spoken} onChange={(event) => language.set(event.currentTarget.value as Language)}>
					{Object.entries(languages).map(([code, name]) => <option key={code} value={code} lang={code}>{name}</option>)}
				</select>
			</label>
			<label>{w.shell.theme}
				<select value={now} onChange={(event) => theme.set(event.currentTarget.value as Theme)}>
					{themes.map((name) => <option key={name} value={name}>{w.shell.themes[name]}</option>)}
				</select>
			</label>
		</div>
	);
}
