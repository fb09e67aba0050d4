/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/exchange/export_ops.h"

#include "core/ident/caller.h"
#include "domain/flag/exchange/exchange.h"
#include "domain/flag/store/direct.h"
#include "domain/flag/store/store.h"

#define PAGE 500

struct export_in {
	str env_id;
};
static const struct field export_in[] = {
	FIELD_TEXT(struct export_in, env_id, .need = true, .min = 1, .max = 200, .doc = "The environment."),
	FIELD_END,
};

struct export_out {
	str countersign, target_field;
	struct json *flags, *configs, *segments;
};
static const struct field export_out[] = {
	FIELD_TEXT(struct export_out, countersign, .need = true, .doc = "What kind of file this is."),
	FIELD_TEXT(struct export_out, target_field, .need = true, .doc = "Where a context says who it is."),
	FIELD_JSON(struct export_out, flags, .need = true, .doc = "By key, as docs/flags.md says."),
	FIELD_JSON(struct export_out, configs, .need = true),
	FIELD_JSON(struct export_out, segments, .need = true),
	FIELD_END,
};

static void
write_item(struct json_out *out, const struct store_item *item)
{
	json_out_key(out, item->key);
	json_out_object(out, NULL);
	JSON_EACH (m, item->state) {
		json_out_key(out, m->key);
		json_out_value(out, NULL, m);
	}
	if (item->description.len)
		json_out_str(out, "description", item->description);
	json_out_end(out);
}

/* All or nothing: a file with holes in it would take away, once imported exactly, what somebody may not see. Which
 * keys there are besides is not said. */
static status
write_items(struct ctx *cx, const struct environment *e, enum resource r, struct json_out *out)
{
	struct store_item *items;
	str after = { 0 };
	size_t count;

	TRY(direct_may_read(cx, e, r));
	json_out_object(out, resource_plural(r));
	do {
		TRY(store_page(cx, e, r, after, PAGE, &items, &count));
		for (size_t i = 0; i < count; i++) {
			if (!caller_in_scope(cx->caller, e->id, items[i].key))
				return fail(cx, E_SCOPE,
					"the environment has keys outside the scope of your token, and an "
					"export is whole");
			write_item(out, &items[i]);
			after = items[i].key;
		}
	} while (count == PAGE);
	json_out_end(out);
	return OK;
}

static status
run_export(struct ctx *cx, const void *arg, struct json_out *out)
{
	const struct export_in *in = arg;
	struct environment e;

	TRY(environment_get(cx, in->env_id, &e));
	TRY(direct_in_scope(cx, &e, (str){ 0 }));
	json_out_str(out, "countersign", STR(EXCHANGE_VERSION));
	json_out_str(out, "targetField", e.target_field);
	for (int r = 0; r < RESOURCES; r++)
		TRY(write_items(cx, &e, (enum resource)r, out));
	return OK;
}

const struct op exchange_ops[] = {
	{ .name = "environment_export",
		.method = "GET",
		.path = "/api/v1/envs/{envId}/export",
		.rule = RULE_ANYBODY,
		.tx = OP_TX_READ,
		.doc = "The flags, configs and segments of an environment as one file: what `countersign "
		       "export` "
		       "writes and flag.import takes. Needs flag.flag.read, flag.config.read and "
		       "flag.segment.read there, and "
		       "all of it in the token's scope.",
		.in = export_in,
		.in_size = sizeof(struct export_in),
		.out = export_out,
		.errors = OP_ERRORS(E_NOT_FOUND, E_SCOPE, E_TOO_LARGE),
		.run = run_export },
	{ 0 },
};
