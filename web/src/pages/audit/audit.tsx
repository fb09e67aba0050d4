// SPDX-License-Identifier: Apache-2.0
// The audit log: what happened, who did it on whose authority, and the proof that nobody has rewritten it since.
import { me } from '../../lib/api.ts';
import { useStore } from '../../lib/store.ts';
import { EntryPage } from './entry.tsx';
import { Log } from './log.tsx';
import './audit.css';

export default function Audit({ path }: { path: readonly string[] }) {
	const slug = useStore(me)?.orgSlug ?? '';
	return path[0] ? <EntryPage key={path[0]} slug={slug} id={path[0]} /> : <Log slug={slug} />;
}
