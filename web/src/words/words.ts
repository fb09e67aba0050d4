// SPDX-License-Identifier: Apache-2.0
// Which language, which colours: kept in this browser.
import { keep, kept } from '../lib/keep.ts';
import { store, useStore } from '../lib/store.ts';
import { en, type Words } from './en.ts';
import { es } from './es.ts';

export const languages = { en: 'English', es: 'Español' } as const;
export type Language = keyof typeof languages;
export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const all: Record<Language, Words> = { en, es };

const wanted = kept('language') ?? navigator.language;
export const language = store<Language>(wanted.startsWith('es') ? 'es' : 'en');
const chosen = kept('theme');
export const theme = store<Theme>(chosen === 'light' || chosen === 'dark' ? chosen : 'system');

function show(): void {
	document.documentElement.lang = language.get();
	if (theme.get() === 'system') delete document.documentElement.dataset['theme'];
	else document.documentElement.dataset['theme'] = theme.get();
}
language.on(() => (keep('language', language.get()), show()));
theme.on(() => (keep('theme', theme.get()), show()));
show();

export const words = (): Words => all[language.get()];
export const useWords = (): Words => all[useStore(language)];

/** One of the server's fixed sentences in the reader's language; any other as it is. */
export function sentence(w: Words, text: string): string {
	return Object.hasOwn(w.sentences, text) ? w.sentences[text as keyof Words['sentences']] : text;
}
