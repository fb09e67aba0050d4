// SPDX-License-Identifier: Apache-2.0
// One flag, config or segment: what each environment says of it, side by side, and what a context was answered of late.
import { useState } from 'preact/hooks';

import { useFresh } from '../../lib/answer.ts';
import { ask } from '../../lib/api.ts';
import { follow, go, pagePath } from '../../lib/route.ts';
import { useKeys } from '../../ui/keys.ts';
import { Failure } from '../../ui/notice.tsx';
import { Raw } from '../../ui/text.tsx';
import { useWords } from '../../words/words.ts';
import { isOff, Kill, Promote, Remove } from './act.tsx';
import { History } from './history.tsx';
import { EnvironmentName } from './list.tsx';
import type { Environment, Item, Kind } from './model.ts';
import { useLoad, type Place } from './place.ts';
import { StateSaid } from './said.tsx';

/** What an environment says, or why it does not say it to us. */
type Said = { env: Environment; item: Item | null; error: unknown };

function Column({ said: { env, item, error }, kind, edit, again }: { said: Said; kind: Kind; edit: string; again: () => void }) {
	const w = useWords();
	const [killing, setKilling] = useState(false);
	return (
		<section class="panel env" aria-label={env.name}>
			<div class="panel-head">
				<h3><EnvironmentName env={env} /></h3>
				<div class="buttons">
					{item?.type === 'boolean' && kind === 'flags' && !isOff(item) && <button type="button" class="danger" onClick={() => setKilling(true)}>{w.flags.kill}<span class="unseen">: {env.name}</span></button>}
					{item && <a class="button" href={edit} onClick={follow}>{w.flags.edit}<span class="unseen">: {env.name}</span></a>}
				</div>
			</div>
			<div class="panel-body">{item ? <StateSaid item={item} /> : <Failure error={error} retry={again} />}</div>
			{killing && item && <Kill item={item} env={env} onClose={() => setKilling(false)} onDone={() => { setKilling(false); again(); }} />}
		</section>
	);
}

export function ItemPage({ place, kind, name }: { place: Place; kind: Kind; name: string }) {
	const w = useWords();
	// Drawn when all are there: columns that come one after the other would push each other away.
	const { data, again } = useLoad(() => Promise.all(place.environments.map((env) => ask<Item>('GET', `/api/v1/envs/${env.id}/${kind}/${encodeURIComponent(name)}`).then((item): Said => ({ env, item, error: null }), (error: unknown): Said => ({ env, item: null, error })))), [place, kind, name]);
	const back = pagePath('flags', place.project.key, kind), any = data?.find(({ item }) => item)?.item;
	const [act, setAct] = useState<'promote' | 'delete' | null>(null);
	useFresh(again);
	useKeys((event) => (event.key === 'u' || event.key === 'Escape' ? (go(back), true) : false));
	return (
		<div class="sheet">
			<p class="crumb"><a href={back} onClick={follow}>← {w.flags.kinds[kind]}</a></p>
			{!data && <p class="quiet" role="status">{w.loading}</p>}
			{data && (
				<>
					<div class="sheet-head"><div><h2><code><Raw of={name} lines={false} /></code> {any?.type && <span class="fine">{w.flags.types[any.type]}</span>}</h2>{any?.description && <p class="lead"><Raw of={any.description} /></p>}</div>
						{any && (
							<div class="buttons">
								{place.environments.length > 1 && <button type="button" onClick={() => setAct('promote')}>{w.flags.promote}</button>}
								<button type="button" class="danger" onClick={() => setAct('delete')}>{w.flags.delete}</button>
							</div>
						)}
					</div>
					<div class="envs">{data.map((said) => <Column key={said.env.id} said={said} kind={kind} edit={pagePath('flags', place.project.key, kind, name, said.env.key)} again={again} />)}</div>
					{kind !== 'segments' && any && <History place={place} name={name} />}
					{act === 'promote' && <Promote place={place} kind={kind} name={name} onClose={() => setAct(null)} />}
					{act === 'delete' && <Remove place={place} kind={kind} name={name} onClose={() => setAct(null)} />}
				</>
			)}
		</div>
	);
}
