// SPDX-License-Identifier: Apache-2.0
// The console is a few files with content-hash names; nothing is inline (the pages' policy forbids it).
import { defineConfig } from 'vite';

export default defineConfig({
	esbuild: { jsx: 'automatic', jsxImportSource: 'preact', legalComments: 'none' },
	build: {
		assetsDir: 'console',
		assetsInlineLimit: 0,
		modulePreload: { polyfill: false },
		target: 'es2022',
		reportCompressedSize: false,
	},
	// `npm run dev` beside a server: COUNTERSIGN_URL=http://127.0.0.1:7700 npm run dev
	server: { proxy: { '/api': process.env.COUNTERSIGN_URL ?? 'http://127.0.0.1:7700' } },
});
