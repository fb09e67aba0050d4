/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/live/visit.h"

#include "core/ident/recall.h"
#include "core/op.h"
#include "db/db.h"
#include "domain/flag/live/live.h"

static str
only_environment(const struct caller *c)
{
	return !c->scope.all_environments && c->scope.environment_count == 1 ? c->scope.environments[0]
									     : (str){ NULL, 0 };
}

status
visit_begin(struct ctx *cx, str environment_id, struct visit *out)
{
	struct environment e;

	if (!environment_id.len)
		environment_id = only_environment(cx->caller);
	if (!environment_id.len)
		return fail(cx, E_BAD_REQUEST,
			"your token is not for exactly one environment, so the address has to name it: "
			"/api/v1/envs/{id}/...");
	TRY(environment_get(cx, environment_id, &e));
	if (!caller_may_in(cx->caller, STR(VISIT_RULE), e.production))
		return fail(cx, E_FORBIDDEN, "Forbidden: evaluate (missing permission: " VISIT_RULE ")");
	if (!caller_in_scope(cx->caller, e.id, STR("")))
		return fail(cx, E_SCOPE, "this environment is outside the scope of your token");
	*out = (struct visit){ *cx->caller, e };
	return OK;
}

/* Those who may read everywhere are remembered, and only they: so nobody has to ask again what kind of environment
 * it is, which the database knows. */
static bool
may_everywhere(const struct caller *c)
{
	bool same = !c->scope.production_verbs || c->scope.production_verbs == c->scope.verbs;

	return caller_may_in(c, STR(VISIT_RULE), true) && (same || caller_may_in(c, STR(VISIT_RULE), false));
}

status
visit_peek(struct ctx *cx, str environment_id, const struct caller **out_caller,
	const struct live_ruleset **out_live)
{
	const struct caller *c = cx->recall && cx->live ? recall_find(cx->recall, cx->credential) : NULL;
	str id = c && !environment_id.len ? only_environment(c) : environment_id;
	const struct live_ruleset *live =
		c && id.len && caller_in_scope(c, id, STR("")) ? live_peek(cx->live, c->org_id, id) : NULL;

	if (!live) {
		recall_release(c);
		return E_BUSY;
	}
	*out_caller = c;
	*out_live = live;
	return OK;
}

void
visit_end(const struct caller *c, const struct live_ruleset *live)
{
	live_release(live);
	recall_release(c);
}

status
visit_enter(struct ctx *cx, status (*fn)(struct ctx *cx, void *arg), void *arg, const struct visit *v)
{
	struct recall_mark m = { 0 };

	if (cx->recall)
		m = recall_begin(cx->recall);
	TRY(op_read(cx, fn, arg));
	if (cx->recall && may_everywhere(&v->caller))
		recall_keep(cx->recall, m, cx->credential, &v->caller);
	else if (cx->recall)
		recall_drop(cx->recall, cx->credential);
	return recall_count(cx, &v->caller);
}

struct as_visitor {
	const struct caller *caller;
	status (*fn)(struct ctx *cx, void *arg);
	void *arg;
};

static status
read_as_visitor(struct ctx *cx, void *arg)
{
	const struct as_visitor *a = arg;
	status s;

	cx->caller = a->caller;
	s = a->fn(cx, a->arg);
	cx->caller = NULL;
	return s;
}

status
visit_read(struct ctx *cx, const struct visit *v, status (*fn)(struct ctx *cx, void *arg), void *arg)
{
	struct as_visitor a = { &v->caller, fn, arg };

	return db_read(cx, read_as_visitor, &a);
}

status
visit_key(struct ctx *cx, const struct caller *c, str environment_id, str key)
{
	if (caller_in_scope(c, environment_id, key))
		return OK;
	return fail(cx, E_SCOPE, "%.*s is outside the scope of your token", STR_ARG(key));
}

status
visit_refuse(struct ctx *cx, str path, str message)
{
	ctx_clear(cx);
	fail_issue(cx, path, message);
	return fail(cx, E_INVALID, "%.*s %.*s", STR_ARG(path), STR_ARG(message));
}
