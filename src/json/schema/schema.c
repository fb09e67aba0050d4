/* SPDX-License-Identifier: Apache-2.0 */
#include "json/schema.h"

#include "base/limits.h"
#include "base/meter/meter.h"
#include "json/schema/impl.h"

static status
make(struct ctx *cx, const struct json *doc, str uri, const struct schema_options *options, bool is_meta,
	struct schema **out_schema)
{
	struct arena arena;
	struct schema *s;
	struct compile k = { .cx = cx, .options = options, .is_meta = is_meta };
	struct node *root;
	status done;

	arena_init(&arena, LIMIT_SCHEMA_BYTES);
	s = ARENA_NEW(&arena, struct schema); /* it lives in its own arena: one thing to free */
	s->arena = arena;
	k.schema = s;
	k.arena = &s->arena;
	done = compile_document(&k, doc, uri, &root);
	if (done != OK) {
		schema_free(s);
		return done;
	}
	s->root = root;
	*out_schema = s;
	return OK;
}

status
schema_new(struct ctx *cx, const struct json *doc, const struct schema_options *options,
	struct schema **out_schema)
{
	return make(cx, doc, STR(""), options, false, out_schema);
}

void
schema_free(struct schema *s)
{
	struct arena arena;

	if (!s)
		return;
	for (struct regex_link *l = s->regexes; l; l = l->next)
		regex_free(l->regex);
	arena = s->arena;
	arena_done(&arena);
}

status
compile_against(struct compile *k, const struct node *n, const struct json *meta, str uri)
{
	struct schema_issues issues = { 0 };
	struct schema *s;
	status done;

	TRY(make(k->cx, meta, uri, k->options, true, &s));
	done = schema_check(k->cx, s, n->json, &issues);
	schema_free(s);
	TRY(done);
	if (!issues.count)
		return OK;
	for (size_t i = 0; i < issues.count; i++)
		fail_issue(k->cx, issues.issues[i].path, issues.issues[i].message);
	return fail(k->cx, E_INVALID, "the schema is not valid at \"%.*s\": %.*s",
		STR_ARG(issues.issues[0].path), STR_ARG(issues.issues[0].message));
}

/* One walk over the value. list is NULL where only the answer counts. */
static bool
walk(struct check *c, const struct schema *s, const struct json *value, struct found_list *list)
{
	struct frame f = { .node = s->root, .value = value };
	bool valid;

	arena_init(&c->scratch, LIMIT_SCHEMA_BYTES);
	c->issues = list;
	c->stopped = false;
	valid = check_frame(c, &f);
	arena_done(&c->scratch);
	return valid;
}

static status
report(struct check *c, const struct schema *s, const struct json *value, struct schema_issues *out_issues)
{
	struct found_list list = { .items =
					   ARENA_TRY_ARRAY(c->cx->arena, struct found, LIMIT_SCHEMA_ISSUES) };
	struct issue *issues = ARENA_TRY_ARRAY(c->cx->arena, struct issue, LIMIT_SCHEMA_ISSUES);

	if (!list.items || !issues)
		return fail(c->cx, E_TOO_LARGE, "checking takes more memory than one request may use");
	(void)walk(c, s, value, &list);
	/* Saying why takes longer than knowing that: where the steps end, what has been found must do. */
	if (!list.count)
		list.items[list.count++] =
			(struct found){ .message = STR("does not have the form that is asked for") };
	for (size_t i = 0; i < list.count; i++)
		issues[i] = (struct issue){ .path = list.items[i].path, .message = list.items[i].message };
	*out_issues = (struct schema_issues){ .issues = issues, .count = list.count };
	return OK;
}

status
schema_check(
	struct ctx *cx, const struct schema *s, const struct json *value, struct schema_issues *out_issues)
{
	struct check c = { .cx = cx };
	bool valid = walk(&c, s, value, NULL);

	if (c.stopped)
		return meter_refuse(cx);
	if (!valid)
		return report(&c, s, value, out_issues);
	*out_issues = (struct schema_issues){ .count = 0 };
	return OK;
}
