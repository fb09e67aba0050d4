// SPDX-License-Identifier: Apache-2.0
// One flag, config or segment: what each environment says of it, side by side, and what a context was answered of late.
import { ask } from '../../lib/api.ts';
import { follow, go, pagePath } from '../../lib/route.ts';
import { useKeys } from '../../ui/keys.ts';
import { Failure } from '../../ui/notice.tsx';
import { Raw } from '../../ui/text.tsx';
import { useWords } from '../../words/words.ts';
import { History } from './history.tsx';
import { EnvironmentName } from './list.tsx';
import type { Environment, Item, Kind } from './model.ts';
import { useLoad, type Place } from './place.ts';
import { StateSaid } from './said.tsx';

/** What an environment says, or why it does not say it to us. */
type Said = { env: Environment; item: Item | null; error: unknown };

function Column({ said: { env, item, error }, edit, again }: { said: Said; edit: string; again: () => void }) {
	const w = useWords();
	return (
		<section class="panel env" aria-label={env.name}>
			<div class="panel-head"><h3><EnvironmentName env={env} /></h3>{item && <a class="button" href={edit} onClick={follow}>{w.flags.edit}<span class="unseen">: {env.name}</span></a>}</div>
			<div class="panel-body">{item ? <StateSaid item={item} /> : <Failure error={error} retry={again} />}</div>
		</section>
	);
}

export function ItemPage({ place, kind, name }: { place: Place; kind: Kind; name: string }) {
	const w = useWords();
	// Drawn when all are there: columns that come one after the other would push each other away.
	const { data, again } = useLoad(() => Promise.all(place.environments.map((env) => ask<Item>('GET', `/api/v1/envs/${env.id}/${kind}/${encodeURIComponent(name)}`).then((item): Said => ({ env, item, error: null }), (error: unknown): Said => ({ env, item: null, error })))), [place, kind, name]);
	const back = pagePath('flags', place.project.key, kind), any = data?.find(({ item }) => item)?.item;
	useKeys((event) => (event.key === 'u' || event.key === 'Escape' ? (go(back), true) : false));
	return (
		<div class="sheet">
			<p class="crumb"><a href={back} onClick={follow}>← {w.flags.kinds[kind]}</a></p>
			{!data && <p class="quiet" role="status">{w.loading}</p>}
			{data && (
				<>
					<div class="sheet-head"><div><h2><code><Raw of={name} lines={false} /></code> {any?.type && <span class="fine">{w.flags.types[any.type]}</span>}</h2>{any?.description && <p class="lead"><Raw of={any.description} /></p>}</div></div>
					<div class="envs">{data.map((said) => <Column key={said.env.id} said={said} edit={pagePath('flags', place.project.key, kind, name, said.env.key)} again={again} />)}</div>
					{kind !== 'segments' && any && <History place={place} name={name} />}
				</>
			)}
		</div>
	);
}
