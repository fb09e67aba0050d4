// SPDX-License-Identifier: Apache-2.0
// One flag, config or segment: what each environment says of it, side by side, and what a context was answered of late.
import { useAnswer } from '../../lib/answer.ts';
import { follow, go, pagePath } from '../../lib/route.ts';
import { useKeys } from '../../ui/keys.ts';
import { Failure } from '../../ui/notice.tsx';
import { Raw } from '../../ui/text.tsx';
import { useWords } from '../../words/words.ts';
import { History } from './history.tsx';
import { EnvironmentName } from './list.tsx';
import type { Environment, Item, Kind } from './model.ts';
import type { Place } from './place.ts';
import { StateSaid } from './said.tsx';

function Column({ place, kind, name, env }: { place: Place; kind: Kind; name: string; env: Environment }) {
	const w = useWords();
	const { data, error, again } = useAnswer<Item>(`/api/v1/envs/${env.id}/${kind}/${encodeURIComponent(name)}`);
	return (
		<section class="panel env" aria-label={env.name}>
			<div class="panel-head"><h3><EnvironmentName env={env} /></h3>{data && <a class="button" href={pagePath('flags', place.project.key, kind, name, env.key)} onClick={follow}>{w.flags.edit}<span class="unseen">: {env.name}</span></a>}</div>
			<div class="panel-body">
				{error !== null && <Failure error={error} retry={() => void again()} />}
				{!data && error === null && <p class="quiet" role="status">{w.loading}</p>}
				{data && <StateSaid item={data} />}
			</div>
		</section>
	);
}

export function ItemPage({ place, kind, name }: { place: Place; kind: Kind; name: string }) {
	const w = useWords();
	const [first] = place.environments;
	const { data } = useAnswer<Item>(first ? `/api/v1/envs/${first.id}/${kind}/${encodeURIComponent(name)}` : null);
	const back = pagePath('flags', place.project.key, kind);
	useKeys((event) => (event.key === 'u' || event.key === 'Escape' ? (go(back), true) : false));
	return (
		<div class="sheet">
			<p class="crumb"><a href={back} onClick={follow}>← {w.flags.kinds[kind]}</a></p>
			<div class="sheet-head"><div><h2><code><Raw of={name} lines={false} /></code> {data?.type && <span class="fine">{w.flags.types[data.type]}</span>}</h2>{data?.description && <p class="lead"><Raw of={data.description} /></p>}</div></div>
			<div class="envs">{place.environments.map((env) => <Column key={env.id} place={place} kind={kind} name={name} env={env} />)}</div>
			{kind !== 'segments' && <History place={place} name={name} />}
		</div>
	);
}
