// SPDX-License-Identifier: Apache-2.0
// Settings: what policy goes by, who belongs here and what they may, and one's own account.
import { me } from '../../lib/api.ts';
import { follow, pagePath } from '../../lib/route.ts';
import { useStore } from '../../lib/store.ts';
import { Raw } from '../../ui/text.tsx';
import { useWords } from '../../words/words.ts';
import { Account } from './account.tsx';
import { Members } from './members.tsx';
import { PolicyPart } from './policy.tsx';
import { Roles } from './roles.tsx';
import { Teams } from './teams.tsx';
import './settings.css';

const parts = { policy: PolicyPart, members: Members, roles: Roles, teams: Teams, account: Account };
type Part = keyof typeof parts;

export default function Settings({ path }: { path: readonly string[] }) {
	const w = useWords();
	const who = useStore(me)!;
	const part = (Object.keys(parts) as Part[]).find((one) => one === path[0]) ?? 'policy';
	const View = parts[part];
	return (
		<div class="sheet">
			<div class="sheet-head"><div><h2>{w.pages.settings}</h2><p class="lead"><Raw of={who.orgName} lines={false} /> <code>{who.orgSlug}</code></p></div></div>
			<nav class="views" aria-label={w.pages.settings}>
				{(Object.keys(parts) as Part[]).map((one) => <a key={one} href={pagePath('settings', one)} onClick={follow} aria-current={one === part ? 'page' : undefined}>{w.settings.parts[one]}</a>)}
			</nav>
			<View key={part} />
		</div>
	);
}
