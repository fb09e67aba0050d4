/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/reservoir/survey.h"

#include "base/limits.h"
#include "base/meter/meter.h"
#include "db/db.h"
#include "domain/flag/evaluate.h"
#include "domain/flag/reservoir/impl.h"
#include "domain/flag/reservoir/tally.h"

#include <sodium.h>

#include "domain/flag/reservoir/reservoir.sql.h" /* SQL_RESERVOIR_*, generated from reservoir.sql */

#define PAGE 1000 /* samples in memory at once */

struct slot_row {
	int64_t slot;
	str body;
};
static const struct field slot_row[] = {
	FIELD_INT(struct slot_row, slot),
	FIELD_BLOB(struct slot_row, body),
	FIELD_END,
};

struct survey {
	struct sampling setting;
	unsigned char key[KEYS_KEY];
	const struct impact_pair *pair;
	struct tally tally;
	int64_t after; /* slots up to this one have been looked at */
	struct slot_row *rows;
	size_t count;
};

static status
read_page(struct ctx *cx, void *arg)
{
	struct survey *s = arg;
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	return db_all(cx, SQL_RESERVOIR_PAGE, slot_row, sizeof(*s->rows), &s->rows, &s->count,
		TEXT(s->setting.org_id), TEXT(s->setting.environment_id), INT(s->after),
		INT(now_us - LIMIT_SAMPLE_AGE_US), INT(PAGE));
}

/* What a key is answered; empty where there is no such item. */
static status
answer(const struct ruleset *rs, struct subject *subject, str key, str *out)
{
	const struct item *item = ruleset_find(rs, key);
	struct evaluation e = { 0 };

	if (item)
		TRY(ruleset_evaluate(subject, item, &e));
	*out = e.value;
	return OK;
}

/* One that does not open, or cannot be evaluated, is none. */
static status
look_at(struct ctx *cx, struct survey *s, const struct slot_row *row)
{
	str about = sampling_about(cx->arena, s->setting.org_id, s->setting.environment_id, row->slot);
	str text = keys_open(cx, s->key, row->body, about);
	struct subject *live, *preview;
	struct json *context;
	bool changed = false;

	TRY(json_parse(cx, text, &context));
	TRY(subject_prepare(cx, s->pair->live, context, &live));
	TRY(subject_prepare(cx, s->pair->preview, context, &preview));
	for (size_t i = 0; i < s->pair->key_count; i++) {
		str key = s->pair->keys[i];
		str before, after;

		TRY(answer(s->pair->live, live, key, &before));
		TRY(answer(s->pair->preview, preview, key, &after));
		if (str_eq(before, after))
			continue;
		changed = true;
		tally_pair(&s->tally, key, before, after);
	}
	tally_context(&s->tally, context, changed);
	return OK;
}

/* Each page in memory of its own: a full reservoir is larger than a request may be. */
static status
look_at_all(struct ctx *cx, struct survey *s)
{
	struct arena page;
	struct ctx own = *cx;
	status done = OK;

	arena_init(&page, LIMIT_REQUEST_ARENA);
	own.arena = &page;
	own.payer = NULL; /* a budget of its own: it counts contexts that others sent */
	own.work = (struct metered){ 0 };
	s->after = -1;
	do {
		arena_reset(&page);
		done = db_read(&own, read_page, s);
		for (size_t i = 0; done == OK && i < s->count; i++) {
			struct arena_mark mark = arena_mark(&page);

			if (look_at(&own, s, &s->rows[i]) != OK && !meter_left(&own))
				done = meter_refuse(&own);
			else
				ctx_clear(&own);
			s->after = s->rows[i].slot;
			arena_rewind(&page, mark);
		}
	} while (done == OK && s->count == PAGE);
	arena_done(&page);
	return done;
}

struct asking {
	str org_id, environment_id;
	struct sampling *setting;
};

static status
read_setting(struct ctx *cx, void *arg)
{
	struct asking *a = arg;

	return sampling_get(cx, a->org_id, a->environment_id, a->setting);
}

static struct json *
too_busy(struct ctx *cx)
{
	struct json *o = json_new_object(cx->arena);

	json_add_member(o, STR("sentence"),
		json_new_string(cx->arena,
			STR("recent contexts were not counted: the server was busy with other counts")));
	return o;
}

static status
count(struct ctx *cx, struct survey *s, const struct json **out)
{
	status done;

	TRY(sampling_unwrap(cx, &s->setting, s->key));
	done = look_at_all(cx, s);
	sodium_memzero(s->key, sizeof(s->key));
	if (done == OK)
		*out = tally_json(cx, &s->tally);
	return done;
}

status
survey_make(struct ctx *cx, str org_id, str environment_id, const struct impact_pair *pair,
	const struct json **out)
{
	struct survey *s = arena_alloc(cx->arena, sizeof(*s));
	struct asking a = { org_id, environment_id, &s->setting };
	status found = db_read(cx, read_setting, &a), done;

	if (found == E_NOT_FOUND) {
		ctx_clear(cx);
		*out = NULL;
		return OK;
	}
	TRY(found);
	if (!reservoir_survey_begin(cx->reservoir)) {
		*out = too_busy(cx);
		return OK;
	}
	s->pair = pair;
	s->tally = (struct tally){ .arena = cx->arena, .target = s->setting.target_field };
	done = count(cx, s, out);
	reservoir_survey_end(cx->reservoir);
	return done;
}

status
survey_is_on(struct ctx *cx, str org_id, str environment_id, bool *out)
{
	struct sampling s;
	status found = sampling_get(cx, org_id, environment_id, &s);

	if (found == E_NOT_FOUND)
		ctx_clear(cx);
	else
		TRY(found);
	*out = found == OK;
	return OK;
}
