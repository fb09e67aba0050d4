// SPDX-License-Identifier: Apache-2.0
// Flags, configs and segments: /flags/PROJECT/KIND/KEY/ENVIRONMENT, as far as one has gone.
import { follow, go, pagePath } from '../../lib/route.ts';
import { visible } from '../../lib/visible.ts';
import { Failure } from '../../ui/notice.tsx';
import { useWords } from '../../words/words.ts';
import { Editor } from './editor.tsx';
import { ItemPage } from './item.tsx';
import { List } from './list.tsx';
import { KINDS, type Kind } from './model.ts';
import { loadPlace, useLoad, type Place } from './place.ts';
import './flags.css';

function Head({ place, kind }: { place: Place; kind: Kind }) {
	const w = useWords();
	const { projects, project } = place;
	return (
		<div class="sheet-head">
			<div><h2>{w.pages.flags}</h2><p class="lead">{w.flags.lead}</p></div>
			<label>{w.flags.project} <select value={project.key} onChange={(event) => go(pagePath('flags', event.currentTarget.value, kind))}>{projects.map((one) => <option key={one.id} value={one.key}>{visible(one.name, false)}</option>)}</select></label>
		</div>
	);
}

function Tabs({ project, kind }: { project: string; kind: Kind }) {
	const w = useWords();
	return <nav class="views" aria-label={w.pages.flags}>{KINDS.map((one) => <a key={one} href={pagePath('flags', project, one)} onClick={follow} aria-current={one === kind ? 'page' : undefined}>{w.flags.kinds[one]}</a>)}</nav>;
}

export default function Flags({ path }: { path: readonly string[] }) {
	const w = useWords();
	const [projectKey, kindName = 'flags', key, envKey] = path;
	const kind = KINDS.find((one) => one === kindName) ?? 'flags';
	const { data: place, error, again } = useLoad(() => loadPlace(projectKey), [projectKey]);
	const env = place?.environments.find((one) => one.key === envKey);
	if (error !== null) return <div class="sheet"><h2>{w.pages.flags}</h2><Failure error={error} retry={again} /></div>;
	if (!place || (projectKey !== undefined && place.project.key !== projectKey)) return <div class="sheet"><h2>{w.pages.flags}</h2><p class="quiet" role="status">{w.loading}</p></div>;
	if (key !== undefined && env) return <Editor key={`${kind} ${key} ${env.id}`} place={place} kind={kind} name={key} env={env} />;
	if (key !== undefined) return <ItemPage key={`${kind} ${key}`} place={place} kind={kind} name={key} />;
	return (
		<div class="sheet">
			<Head place={place} kind={kind} />
			<Tabs project={place.project.key} kind={kind} />
			{place.environments.length === 0 ? <div class="panel"><div class="empty"><h3>{w.flags.noEnvironments}</h3><p>{w.flags.noEnvironmentsText}</p></div></div> : <List key={`${place.project.id} ${kind}`} place={place} kind={kind} />}
		</div>
	);
}
