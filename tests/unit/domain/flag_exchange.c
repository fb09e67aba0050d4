/* SPDX-License-Identifier: Apache-2.0 */
/* Rulesets as files: our own, flagd's and Unleash's. tests/conformance compares the last two with their makers. */
#include "tests/unit/domain/flag.h"

#include "domain/flag/exchange/exchange.h"

#include <stdio.h>
#include <stdlib.h>

static struct exchange
converted(struct unit *u, enum exchange_format format, const char *text)
{
	struct exchange e = { 0 };

	if (exchange_read(&u->cx, format, document(u, text), STR("userId"), &e) != OK)
		not_so("not read: %s: %.*s", text, STR_ARG(u->cx.error.message));
	return e;
}

/* --- our own --- */

static const char *const ours =
	"{'targetField':'userId','segments':{},'flags':{'b':{'type':'boolean','rules':"
	"[{'value':true,'if':{'field':'n','$in':[1.50,'\\u00fc\\n']}},{'value':false,'rolloutPercent':5}],"
	"'defaultValue':false},'a':{'type':'string','defaultValue':''}},'configs':{'c':{'type':'json',"
	"'defaultValue':{'z':null,'a':[]},'schema':{},'description':'d'}}}";

static void
a_file_is_sorted_with_one_member_on_a_line(void **state)
{
	static const char expected[] = "{\n"
				       "  \"configs\": {\n"
				       "    \"c\": {\n"
				       "      \"defaultValue\": {\n"
				       "        \"a\": [],\n"
				       "        \"z\": null\n"
				       "      },\n"
				       "      \"description\": \"d\",\n"
				       "      \"schema\": {},\n"
				       "      \"type\": \"json\"\n"
				       "    }\n"
				       "  },\n"
				       "  \"countersign\": \"ruleset/1\",\n"
				       "  \"flags\": {\n"
				       "    \"a\": {\n"
				       "      \"defaultValue\": \"\",\n"
				       "      \"type\": \"string\"\n"
				       "    },\n"
				       "    \"b\": {\n"
				       "      \"defaultValue\": false,\n"
				       "      \"rules\": [\n"
				       "        {\n"
				       "          \"if\": {\n"
				       "            \"$in\": [\n"
				       "              1.50,\n"
				       "              \"ü\\n\"\n"
				       "            ],\n"
				       "            \"field\": \"n\"\n"
				       "          },\n"
				       "          \"value\": true\n"
				       "        },\n"
				       "        {\n"
				       "          \"rolloutPercent\": 5,\n"
				       "          \"value\": false\n"
				       "        }\n"
				       "      ],\n"
				       "      \"type\": \"boolean\"\n"
				       "    }\n"
				       "  },\n"
				       "  \"segments\": {},\n"
				       "  \"targetField\": \"userId\"\n"
				       "}\n";
	UNIT(u);
	str text;

	(void)state;
	assert_status(exchange_write(&u.cx, document(&u, ours), &text), OK);
	assert_string_equal(arena_cstr(&u.arena, text), expected);
}

/* A value of chance; deep ones get rarer. */
static struct json *
value_of_chance(struct arena *a, unsigned depth)
{
	static const char *const texts[] = { "", "a", "\"\\/", "\n\t\x01", "ü€😊", "null" };
	static const char *const numbers[] = { "0", "-0", "1e5", "0.10", "12345678901234567890" };
	unsigned kind = (unsigned)rand() % (depth ? 7 : 5), n = (unsigned)rand() % 4;
	struct json *value;

	switch (kind) {
	case 0:
		return json_new_null(a);
	case 1:
		return json_new_bool(a, n & 1);
	case 2:
		value = json_new_int(a, 0);
		value->text = str_of(numbers[(unsigned)rand() % COUNT(numbers)]);
		return value;
	case 3:
	case 4:
		return json_new_string(a, str_of(texts[(unsigned)rand() % COUNT(texts)]));
	case 5:
		value = json_new_array(a);
		while (n--)
			json_add_item(value, value_of_chance(a, depth - 1));
		return value;
	default:
		value = json_new_object(a);
		while (n--)
			json_add_member(
				value, arena_printf(a, "%u%d", n, rand()), value_of_chance(a, depth - 1));
		return value;
	}
}

/* json configs with values of chance, and rules that give others. */
static struct json *
ruleset_of_chance(struct arena *a)
{
	struct json *doc = json_new_object(a), *configs = json_new_object(a);

	json_add_member(doc, STR("targetField"), json_new_string(a, STR("id")));
	for (int n = rand() % 8; n >= 0; n--) {
		struct json *config = json_new_object(a), *rules = json_new_array(a),
			    *rule = json_new_object(a);

		json_add_member(rule, STR("value"), value_of_chance(a, 5));
		json_add_item(rules, rule);
		json_add_member(config, STR("rules"), rules);
		json_add_member(config, STR("type"), json_new_string(a, STR("json")));
		json_add_member(config, STR("defaultValue"), value_of_chance(a, 5));
		json_add_member(configs, arena_printf(a, "k%d-%d", rand() % 100, n), config);
	}
	json_add_member(doc, STR("configs"), configs);
	return doc;
}

static void
what_was_written_is_read_as_it_was(void **state)
{
	(void)state;
	srand(20261116);
	for (int i = 0; i < 500; i++) {
		UNIT(u);
		const struct json *doc = ruleset_of_chance(&u.arena);
		struct exchange e;
		struct json *file;
		str text, again;

		assert_status(exchange_write(&u.cx, doc, &text), OK);
		assert_status(json_parse_stored(&u.cx, text, &file), OK);
		assert_status(exchange_read(&u.cx, EXCHANGE_COUNTERSIGN, file, STR("other"), &e), OK);
		assert_true(json_equal(doc, e.ruleset));
		assert_int_equal(e.notes + e.refusals, 0);
		assert_status(exchange_write(&u.cx, e.ruleset, &again), OK);
		assert_true(str_eq(text, again));
	}
}

static void
what_is_no_file_of_ours_is_refused_with_a_path(void **state)
{
	static const char *const rows[][2] = {
		{ "{}", "/countersign" },
		{ "[]", "/countersign" },
		{ "{'countersign':'ruleset/2'}", "/countersign" },
		{ "{'countersign':1}", "/countersign" },
		{ "{'countersign':'ruleset/1','flag':{}}", "/flag" },
		{ "{'countersign':'ruleset/1','flags':{'f':{'type':'number','defaultValue':1}}}",
			"/flags/f/type" },
	};
	struct exchange e;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		UNIT(u);

		assert_status(
			exchange_read(&u.cx, EXCHANGE_COUNTERSIGN, document(&u, rows[i][0]), STR("x"), &e),
			E_INVALID);
		assert_str(u.cx.error.issues[0].path, rows[i][1]);
	}
}

static void
formats_have_names(void **state)
{
	enum exchange_format f;

	(void)state;
	for (unsigned i = 0; i < EXCHANGE_FORMATS; i++) {
		assert_true(exchange_format_find(str_of(exchange_format_name((enum exchange_format)i)), &f));
		assert_int_equal(f, i);
	}
	assert_false(exchange_format_find(STR("Flagd"), &f));
}

/* --- theirs: a file with one item, what is said of it, and what it then answers --- */

struct row {
	const char *json;  /* the item, or a part of it */
	const char *path;  /* of a remark below the item; NULL: there is none */
	const char *about; /* a part of its sentence */
};

static const struct exchange_remark *
find_remark(const struct exchange *e, const char *path, bool refused)
{
	for (const struct exchange_remark *r = e->remarks; r; r = r->next)
		if (r->refused == refused && str_eq(r->path, str_of(path)))
			return r;
	return NULL;
}

/* Is there such a remark, and is the item there or not as it says? */
static void
assert_remark(struct unit *u, enum exchange_format format, const char *file, const char *prefix,
	const struct row *row, bool refused)
{
	struct exchange e = converted(u, format, file);
	char path[200];
	const struct exchange_remark *r;

	(void)snprintf(path, sizeof(path), "%s%s", prefix, row->path);
	r = find_remark(&e, path, refused);
	if (!r || !strstr(arena_cstr(&u->arena, r->message), row->about))
		not_so("%s\nhas no remark of %s about %s; the first is %.*s %.*s", file, path, row->about,
			STR_ARG(e.remarks ? e.remarks->path : STR("-")),
			STR_ARG(e.remarks ? e.remarks->message : STR("-")));
	assert_int_equal(e.refusals > 0, refused);
	assert_int_equal(json_get(e.ruleset, STR("flags"))->count, !refused);
}

static bool
gives(struct unit *u, enum exchange_format format, const char *file, const char *context, const char *key,
	const char *expected)
{
	struct exchange e = converted(u, format, file);
	struct evaluation answer_of;
	struct ruleset *rs = NULL;
	bool same;

	if (e.refusals)
		not_so("%s\nis refused: %.*s %.*s", file, STR_ARG(e.remarks->path),
			STR_ARG(e.remarks->message));
	assert_status(ruleset_compile(&u->cx, e.ruleset, &rs), OK);
	assert_status(
		ruleset_evaluate(prepared(u, rs, context), ruleset_find(rs, str_of(key)), &answer_of), OK);
	same = str_eq(answer_of.value, str_of(expected));
	if (!same)
		print_error("%s\nfor %s answers %.*s\n", file, context, STR_ARG(answer_of.value));
	ruleset_free(rs);
	return same;
}

/* --- flagd --- */

#define FLAGD_FILE                                                                                           \
	"{'$schema':'x','flags':{'f':%s},'$evaluators':{'circle':{'$ref':'circle'},'pro':{'==':[{'var':"     \
	"'plan'},'pro']},'twice':{'if':[{'==':[{'var':'a'},1]},{'$ref':'twice'},{'$ref':'twice'}]}}}"
#define FLAGD_FLAG                                                                                           \
	"{'state':'ENABLED','variants':{'on':true,'off':false},'defaultVariant':'off','targeting':%s}"

static void
what_flagd_says_and_we_cannot_is_refused(void **state)
{
	static const struct row flags[] = {
		{ "{'state':'DISABLED','variants':{'on':true},'defaultVariant':'on'}", "/state",
			"program's own default" },
		{ "{'state':'MAYBE','variants':{'on':true},'defaultVariant':'on'}", "/state",
			"ENABLED or DISABLED" },
		{ "{'variants':{'on':true},'defaultVariant':'on'}", "/state", "ENABLED or DISABLED" },
		{ "{'state':'ENABLED','variants':{'on':true}}", "/defaultVariant", "here is always a value" },
		{ "{'state':'ENABLED','variants':{'on':true},'defaultVariant':null}", "/defaultVariant",
			"no value" },
		{ "{'state':'ENABLED','variants':{'on':true},'defaultVariant':'up'}", "/defaultVariant",
			"none of the variants" },
		{ "{'state':'ENABLED','variants':7,'defaultVariant':'on'}", "/variants",
			"object of variants" },
		{ "{'state':'ENABLED','variants':{'on':null},'defaultVariant':'on'}", "/variants",
			"with values" },
		{ "{'state':'ENABLED','variants':{'on':true,'off':0},'defaultVariant':'on'}", "/variants/off",
			"another type" },
		{ "7", "", "must be an object" },
	};
	static const struct row targetings[] = {
		{ "'on'", "", "must be an object" },
		{ "{'if':[true,'up']}", "/if/1", "the variant up" },
		{ "{'if':[true]}", "/if", "a condition, a result" },
		{ "{'if':[{'<':[{'var':'$flagd.timestamp'},9]},'on']}", "/if/0/</0/var", "the time" },
		{ "{'if':[{'==':[{'var':'a'},{'var':'b'}]},'on']}", "/if/0/==", "two fields" },
		{ "{'if':[{'==':[1,2]},'on']}", "/if/0/==", "two constants" },
		{ "{'if':[{'==':[1,2,3]},'on']}", "/if/0/==", "3 arguments" },
		{ "{'if':[{'==':1},'on']}", "/if/0/==", "1 arguments" },
		{ "{'if':[{'<':[1]},'on']}", "/if/0/<", "1 arguments" },
		{ "{'if':[{'!':[]},'on']}", "/if/0/!", "0 arguments" },
		{ "{'if':[{'in':[1]},'on']}", "/if/0/in", "1 arguments" },
		{ "{'if':[{'starts_with':[1]},'on']}", "/if/0/starts_with", "1 arguments" },
		{ "{'if':[{'sem_ver':[{'var':'a'},'=']},'on']}", "/if/0/sem_ver", "2 arguments" },
		{ "{'if':[{'>':[{'+':[{'var':'a'},1]},2]},'on']}", "/if/0/>/0", "computed" },
		{ "{'if':[{'some':[{'var':'a'},true]},'on']}", "/if/0/some", "cannot be expressed" },
		{ "{'if':[{'a':1,'b':2},'on']}", "/if/0", "not an operator" },
		{ "{'if':[{'if':true},'on']}", "/if/0/if", "a list of at most" },
		{ "{'if':[{'var':'list.0.name'},'on']}", "/if/0/var", "element of an array" },
		{ "{'if':[{'var':'list.0'},'on']}", "/if/0/var", "element of an array" },
		{ "{'if':[{'var':['a',7]},'on']}", "/if/0/var", "default for a missing field" },
		{ "{'if':[{'var':['a',null,1]},'on']}", "/if/0/var", "default for a missing field" },
		{ "{'if':[{'var':''},'on']}", "/if/0/var", "name of a field" },
		{ "{'if':[{'var':7},'on']}", "/if/0/var", "name of a field" },
		{ "{'if':[{'==':[{'var':'a'},[1]]},'on']}", "/if/0/==", "an array" },
		{ "{'if':[{'<':[{'var':'a'},true]},'on']}", "/if/0/<", "neither number nor text" },
		{ "{'if':[{'in':[{'var':'a'},'abc']},'on']}", "/if/0/in", "look for a field in a list" },
		{ "{'if':[{'in':[7,{'var':'a'}]},'on']}", "/if/0/in", "look for a field in a list" },
		{ "{'if':[{'in':[{'var':'a'},[[1]]]},'on']}", "/if/0/in", "no constant" },
		{ "{'if':[{'ends_with':['abc',{'var':'a'}]},'on']}", "/if/0/ends_with", "with a text" },
		{ "{'if':[{'sem_ver':[{'var':'a'},'=','one']},'on']}", "/if/0/sem_ver", "version such as" },
		{ "{'if':[{'sem_ver':[{'var':'a'},'%%','1.0.0']},'on']}", "/if/0/sem_ver/1", "no operator" },
		{ "{'$ref':'nowhere'}", "/$ref", "no entry" },
		{ "{'$ref':7}", "/$ref", "no entry" },
		{ "{'$ref':'circle'}", "", "refers to itself" },
		{ "{'cat':['o','n']}", "", "which variant" },
		{ "{'and':[]}", "", "which variant" },
		{ "{'or':[{'==':[{'var':'a'},1]},{'var':'a'}]}", "", "which variant" },
		{ "{'starts_with':[{'var':'a'},'b']}", "", "which variant" },
		{ "{'==':[{'var':'a'},'b']}", "", "the variant true" },
		{ "{'a':1,'b':2}", "", "not an operator" },
		{ "{'fractional':[]}", "/fractional", "list of shares" },
		{ "{'fractional':'on'}", "/fractional", "list of shares" },
		{ "{'fractional':[['on',1.5]]}", "/fractional/0", "an integer" },
		{ "{'fractional':[['on',1,2]]}", "/fractional/0", "an integer" },
		{ "{'fractional':[['on',2147483648]]}", "/fractional/0", "an integer" },
		{ "{'fractional':[['on',0]]}", "/fractional", "weights of 1" },
		{ "{'fractional':[['on',2147483647],['off',1]]}", "/fractional", "weights of 1" },
		{ "{'fractional':[['on',1],['up',1]]}", "/fractional/1/0", "the variant up" },
		{ "{'fractional':[{'cat':[{'var':'a'},'x']},['on',1],['off',1]]}", "/fractional/0",
			"and then a field" },
		{ "{'fractional':[{'cat':[7,{'var':'a'}]},['on',1],['off',1]]}", "/fractional/0",
			"and then a field" },
		{ "{'fractional':['text',['on',1],['off',1]]}", "/fractional/0", "and then a field" },
		{ "{'fractional':[{'+':[1,2]},['on',1],['off',1]]}", "/fractional/0", "computed" },
	};
	char flag[500], file[1000];

	(void)state;
	for (size_t i = 0; i < COUNT(flags); i++) {
		UNIT(u);

		(void)snprintf(file, sizeof(file), FLAGD_FILE, flags[i].json);
		assert_remark(&u, EXCHANGE_FLAGD, file, "/flags/f", &flags[i], true);
	}
	for (size_t i = 0; i < COUNT(targetings); i++) {
		UNIT(u);

		(void)snprintf(flag, sizeof(flag), FLAGD_FLAG, targetings[i].json);
		(void)snprintf(file, sizeof(file), FLAGD_FILE, flag);
		assert_remark(&u, EXCHANGE_FLAGD, file, "/flags/f/targeting", &targetings[i], true);
	}
}

static void
what_flagd_says_is_answered_as_there(void **state)
{
	static const struct {
		const char *when, *context, *value;
	} rows[] = {
		{ "{'$ref':'pro'}", "{'plan':'pro'}", "true" },
		{ "{'$ref':'pro'}", "{'plan':'free'}", "false" },
		{ "{'==':[{'var':'a'},5]}", "{'a':'5.0'}", "true" },
		{ "{'==':['5',{'var':['a']}]}", "{'a':5}", "true" },
		{ "{'==':[{'var':'a'},true]}", "{'a':1}", "true" },
		{ "{'==':[{'var':'a'},false]}", "{'a':''}", "true" },
		{ "{'==':[{'var':'a'},null]}", "{}", "true" },
		{ "{'!==':[{'var':'a'},5]}", "{'a':'5'}", "true" },
		{ "{'===':[{'var':'$flagd.flagKey'},{'var':'a'}]}", "{'a':'f'}", "true" },
		{ "{'var':'$flagd.flagKey'}", "{}", "true" },
		{ "{'<':[{'var':'a'},1]}", "{}", "true" },
		{ "{'>':[{'var':'a'},-1]}", "{}", "true" },
		{ "{'>=':[{'var':'a'},0]}", "{}", "true" },
		{ "{'>':[{'var':'a'},0]}", "{}", "false" },
		{ "{'<':[1,{'var':'a'},3]}", "{'a':'2'}", "true" },
		{ "{'<':[1,{'var':'a'},3]}", "{'a':3}", "false" },
		{ "{'<=':[{'var':'a'},'m']}", "{'a':'b'}", "true" },
		{ "{'in':[{'var':'a'},['x',null]]}", "{}", "true" },
		{ "{'in':['x',{'var':'a'}]}", "{'a':['x']}", "true" },
		{ "{'starts_with':[{'var':'a'},'']}", "{'a':'\\n'}", "true" },
		{ "{'starts_with':[{'var':'a'},'']}", "{'a':1}", "false" },
		{ "{'sem_ver':[{'var':'a'},'~','v1.2']}", "{'a':'1.2.9-rc'}", "true" },
		{ "{'sem_ver':[{'var':'a'},'~','v1.2']}", "{'a':'1.3.0-rc'}", "false" },
		{ "{'sem_ver':[{'var':'a'},'^','1.2.3']}", "{'a':'1.0.0'}", "true" },
		{ "{'sem_ver':[{'var':'a'},'!=','1']}", "{'a':'1.0.1'}", "true" },
		{ "{'sem_ver':[{'var':'a'},'!=','1']}", "{'a':'none'}", "false" },
		{ "{'sem_ver':[{'var':'a'},'~','1.9999999999999999.0']}", "{'a':'1.9999999999999999.0'}",
			"false" },
		{ "{'!!':[[]]}", "{}", "false" },
		{ "{'!!':[1]}", "{}", "true" },
		{ "{'!':''}", "{}", "true" },
		{ "{'or':{'var':'a'}}", "{'a':'x'}", "true" },
		{ "{'or':[]}", "{}", "false" },
		{ "{'?:':[{'var':'a'},{'var':'b'},{'!':{'var':'b'}}]}", "{'b':false}", "true" },
		{ "{'?:':[{'var':'a'},{'var':'b'}]}", "{'b':1}", "false" },
		{ "{'!':{'!':{'var':'a'}}}", "{'a':1}", "true" },
	};
	char targeting[300], flag[500], file[1000];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		UNIT(u);

		(void)snprintf(targeting, sizeof(targeting), "{'if':[%s,'on']}", rows[i].when);
		(void)snprintf(flag, sizeof(flag), FLAGD_FLAG, targeting);
		(void)snprintf(file, sizeof(file), FLAGD_FILE, flag);
		assert_true(gives(&u, EXCHANGE_FLAGD, file, rows[i].context, "f", rows[i].value));
	}
}

/* Rules end where a condition holds for everybody: what stands behind it is for nobody. */
static void
what_stands_behind_a_result_for_all_is_for_nobody(void **state)
{
	static const char *const targetings[] = {
		"{'if':[true,{'if':[{'var':'a'},'off']},true,'on']}",
		"{'if':[{'==':[{'var':'a'},1]},null,'on']}",
		"{'if':[{'==':[{'var':'a'},1]},false,{'==':[{'var':'b'},1]},true]}",
		"{'fractional':[['off',1],['on',0]]}",
		"{'fractional':[['off',1],['on',1]]}",
		"{'fractional':[['off',-5],['off',1]]}",
	};
	static const char *const contexts[] = { "{}", "{'a':1}", "{'a':1}", "{'userId':'x'}", "{'userId':''}",
		"{}" };

	(void)state;
	for (size_t i = 0; i < COUNT(targetings); i++) {
		UNIT(u);
		char file[1000];

		(void)snprintf(file, sizeof(file),
			"{'flags':{'f':{'state':'ENABLED','variants':{'on':1,'off':0,'true':2,'false':0},"
			"'defaultVariant':'off','targeting':%s}}}",
			targetings[i]);
		assert_true(gives(&u, EXCHANGE_FLAGD, file, contexts[i], "f", "0"));
	}
}

static void
what_flagd_has_besides_is_said(void **state)
{
	UNIT(u);
	struct exchange e = converted(&u, EXCHANGE_FLAGD,
		"{'metadata':{},'flags':{'f':{'state':'ENABLED','variants':{'a':'x'},'defaultVariant':'a',"
		"'metadata':{},'targeting':{}}}}");

	(void)state;
	assert_non_null(find_remark(&e, "/metadata", false));
	assert_non_null(find_remark(&e, "/flags/f/metadata", false));
	assert_int_equal(e.notes, 2);
}

static void
logic_without_an_end_is_refused(void **state)
{
	static const char *const endless[] = {
		"{'if':[{'var':'a'},{'$ref':'f'},{'$ref':'f'}]}",
		"{'if':[{'and':[{'var':'a'},{'$ref':'f'},{'$ref':'f'}]},'on']}",
		"{'and':[{'==':[{'var':'a'},1]},{'$ref':'f'},{'$ref':'f'}]}",
		"{'if':[{'if':[{'var':'a'},{'$ref':'f'},{'$ref':'f'}]},'on']}",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(endless); i++) {
		UNIT(u);
		char file[1000];
		struct exchange e;

		(void)snprintf(file, sizeof(file), "{'flags':{'f':" FLAGD_FLAG "},'$evaluators':{'f':%s}}",
			"{'$ref':'f'}", endless[i]);
		e = converted(&u, EXCHANGE_FLAGD, file);
		assert_int_equal(e.refusals, 1);
	}
}

/* --- Unleash --- */

#define UNLEASH_FILE                                                                                         \
	"{'version':2,'features':[{'name':'f','enabled':true,%s},{'name':'parent','enabled':true,"           \
	"'strategies':[{'name':'default','constraints':[{'contextName':'p','operator':'IN','values':['1']}]" \
	"}],"                                                                                                \
	"'variants':[{'name':'red','weight':1},{'name':'blue','weight':1,'stickiness':'userId'}]},"          \
	"{'name':'grown','enabled':false,'strategies':[],'dependencies':[{'feature':'parent'}]},"            \
	"{'name':'odd','enabled':true,'strategies':[],'variants':[{'name':'x','weight':1,'overrides':[{'"    \
	"contextName':'a'}]}"                                                                                \
	"]}],"                                                                                               \
	"'segments':[{'id':1,'name':'Beta users','constraints':[{'contextName':'beta','operator':'IN',"      \
	"'values':['true']}]},{'id':2,'constraints':[]}]}"
#define CONSTRAINT(rest) "'strategies':[{'name':'default','constraints':[{'contextName':'a'," rest "}]}]"

static void
assert_refused_feature(const struct row *row)
{
	UNIT(u);
	struct exchange e;
	const struct exchange_remark *r;
	char file[3000], path[200];

	(void)snprintf(file, sizeof(file), UNLEASH_FILE, row->json);
	(void)snprintf(path, sizeof(path), "/features/0%s", row->path);
	e = converted(&u, EXCHANGE_UNLEASH, file);
	r = find_remark(&e, path, true);
	if (!r || !strstr(arena_cstr(&u.arena, r->message), row->about))
		not_so("%s\nis not refused at %s: %s", row->json, path, row->about);
	assert_null(json_get(json_get(e.ruleset, STR("flags")), STR("f")));
	assert_non_null(json_get(json_get(e.ruleset, STR("flags")), STR("parent")));
}

static void
what_unleash_says_and_we_cannot_is_refused(void **state)
{
	static const struct row rows[] = {
		{ "'strategies':7", "/strategies", "must be an array" },
		{ "'strategies':null", "/strategies", "must be an array" },
		{ "'variants':[]", "/strategies", "must be an array" },
		{ "'strategies':[7]", "/strategies/0/name", "name of a strategy" },
		{ "'strategies':[{}]", "/strategies/0/name", "name of a strategy" },
		{ "'strategies':[{'name':'mine','parameters':{}}]", "/strategies/0/parameters",
			"code of the SDK" },
		{ "'strategies':[{'name':'flexibleRollout'}]", "/strategies/0/parameters/rollout",
			"a percentage" },
		{ "'strategies':[{'name':'flexibleRollout','parameters':{'rollout':'101'}}]",
			"/strategies/0/parameters/rollout", "a percentage" },
		{ "'strategies':[{'name':'flexibleRollout','parameters':{'rollout':true}}]",
			"/strategies/0/parameters/rollout", "a percentage" },
		{ "'strategies':[{'name':'flexibleRollout','parameters':{'rollout':'5','stickiness':'random'}"
		  "}]",
			"/strategies/0/parameters", "anew for each call" },
		{ "'strategies':[{'name':'gradualRolloutRandom','parameters':{'percentage':'5'}}]",
			"/strategies/0/parameters", "anew for each call" },
		{ "'strategies':[{'name':'gradualRolloutRandom','parameters':{'percentage':'x'}}]",
			"/strategies/0/parameters/percentage", "a percentage" },
		{ "'strategies':[{'name':'gradualRolloutUserId','parameters':{}}]",
			"/strategies/0/parameters/percentage", "a percentage" },
		{ "'strategies':[{'name':'default','segments':['x']}]", "/strategies/0/segments/0",
			"id of a segment" },
		{ "'strategies':[{'name':'default','constraints':7}]", "/strategies/0/constraints",
			"must be an array" },
		{ "'strategies':[{'name':'default','constraints':[7]}]",
			"/strategies/0/constraints/0/contextName", "name of a field" },
		{ "'strategies':[{'name':'default','constraints':[{'operator':'IN'}]}]",
			"/strategies/0/constraints/0/contextName", "name of a field" },
		{ "'strategies':[{'name':'default','constraints':[{'contextName':'a','operator':'IN','values'"
		  ":7}]}]",
			"/strategies/0/constraints/0/values", "must be an array" },
		{ "'strategies':[{'name':'default','constraints':[{'contextName':'a','operator':'IN','values'"
		  ":[7]}]}]",
			"/strategies/0/constraints/0/values", "must be texts" },
		{ "'strategies':[{'name':'default','constraints':[{'contextName':'a','operator':'DATE_AFTER',"
		  "'value':"
		  "'soon'}]}]",
			"/strategies/0/constraints/0/value", "a time such as" },
		{ "'strategies':[{'name':'default','constraints':[{'contextName':'a','operator':'NUM_EQ','"
		  "value':'x',"
		  "'inverted':true}]}]",
			"/strategies/0/constraints/0", "depends on the SDK" },
		{ "'strategies':[],'variants':[{'name':'a','weight':1,'stickiness':'random'},{'name':'b','"
		  "weight':1}]",
			"/variants", "anew for each call" },
		{ "'strategies':[],'variants':[{'weight':1}]", "/variants", "must have names" },
		{ "'strategies':[],'variants':[{'name':'a'}]", "/variants", "integers as weights" },
		{ "'strategies':[],'variants':[{'name':'a','weight':0.5}]", "/variants",
			"integers as weights" },
		{ "'strategies':[],'variants':[{'name':'a','weight':-1}]", "/variants",
			"integers as weights" },
		{ "'strategies':[],'variants':[{'name':'a','weight':2147483647},{'name':'b','weight':1}]",
			"/variants", "weights of" },
		{ "'strategies':[],'dependencies':[{'feature':'odd','variants':['x']}]",
			"/dependencies/0/variants", "with overrides" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_refused_feature(&rows[i]);
}

static void
a_feature_must_have_a_name_and_a_state(void **state)
{
	UNIT(u);
	struct exchange e = converted(&u, EXCHANGE_UNLEASH,
		"{'features':[7,{'enabled':true},{'name':'a'},{'name':'b','enabled':'yes'},{'name':'has "
		"blank',"
		"'enabled':true,'strategies':[]},{'name':'twice','enabled':true,'strategies':[]},{'name':'"
		"twice','enabled':false,'strategies':[]},"
		"{'name':'long','enabled':true,'strategies':[{'name':'default','constraints':[{'contextName':"
		"'x',"
		"'operator':'REGEX','value':'a{300}'}]}]}],'segments':[{'name':'no id'}]}");

	(void)state;
	assert_int_equal(json_get(e.ruleset, STR("flags"))->count, 0);
	assert_non_null(find_remark(&e, "/features/0/name", true));
	assert_non_null(find_remark(&e, "/features/1/name", true));
	assert_non_null(find_remark(&e, "/features/2/enabled", true));
	assert_non_null(find_remark(&e, "/features/3/enabled", true));
	assert_non_null(find_remark(&e, "/features/4", true));
	assert_non_null(find_remark(&e, "/features/7", true));
	assert_non_null(find_remark(&e, "/segments/0/id", true));
}

static void
what_lets_in_nobody_is_said(void **state)
{
	static const struct row rows[] = {
		{ "'strategies':[{'name':'userWithId'}]", "/strategies/0/parameters/userIds", "nobody" },
		{ "'strategies':[{'name':'remoteAddress','parameters':{'IPs':'x, 10.0.0.256'}}]",
			"/strategies/0/parameters/IPs", "no address" },
		{ "'strategies':[{'name':'gradualRolloutRandom','parameters':{'percentage':0}}]",
			"/strategies/0/parameters", "0 %" },
		{ "'strategies':[{'name':'default','disabled':true}]", "/strategies/0", "disabled" },
		{ "'strategies':[{'name':'default','segments':[404]}]", "/strategies/0/segments/0",
			"not in the file" },
		{ "'strategies':[{'name':'default','constraints':[{'contextName':'a','operator':'NEW'}]}]",
			"/strategies/0/constraints/0/operator", "none that is known" },
		{ "'strategies':[{'name':'default','constraints':[{'contextName':'a','operator':'IN'}]}]",
			"/strategies/0/constraints/0", "no values" },
		{ "'strategies':[{'name':'default','constraints':[{'contextName':'a','operator':'STR_"
		  "CONTAINS',"
		  "'values':['']}]}]",
			"/strategies/0/constraints/0", "no values" },
		{ "'strategies':[{'name':'default','constraints':[{'contextName':'a','operator':'NUM_GT','"
		  "value':'x'}]}]",
			"/strategies/0/constraints/0", "no number" },
		{ "'strategies':[{'name':'default','constraints':[{'contextName':'a','operator':'SEMVER_GT','"
		  "value':"
		  "'1'}]}]",
			"/strategies/0/constraints/0", "no version" },
		{ "'strategies':[{'name':'default','constraints':[{'contextName':'a','operator':'REGEX','"
		  "value':'('}]}]",
			"/strategies/0/constraints/0", "no pattern" },
		{ "'strategies':[{'name':'default','constraints':[{'contextName':'a','operator':'IN_CIDR','"
		  "values':["
		  "'x']}]}]",
			"/strategies/0/constraints/0", "no address" },
		{ "'strategies':[],'dependencies':[{'feature':'nowhere'}]", "/dependencies/0",
			"not in the file" },
		{ "'strategies':[],'dependencies':[{'feature':'grown'}]", "/dependencies/0",
			"dependencies of its own" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		UNIT(u);
		struct exchange e;
		char file[3000], path[200];

		(void)snprintf(file, sizeof(file), UNLEASH_FILE, rows[i].json);
		(void)snprintf(path, sizeof(path), "/features/0%s", rows[i].path);
		e = converted(&u, EXCHANGE_UNLEASH, file);
		if (!find_remark(&e, path, false))
			not_so("%s: nothing is said of %s", rows[i].json, path);
		assert_true(gives(
			&u, EXCHANGE_UNLEASH, file, "{'a':'x','remoteAddress':'10.0.0.1'}", "f", "false"));
	}
}

static void
what_unleash_says_is_answered_as_there(void **state)
{
	static const struct {
		const char *feature, *context, *key, *value;
	} rows[] = {
		{ "'strategies':[]", "{}", "f", "true" },

		{ "'strategies':[{'name':'userWithId','parameters':{'userIds':'7, x'}}]", "{'userId':7}", "f",
			"true" },
		{ "'strategies':[{'name':'remoteAddress','parameters':{'IPs':'10.0.0.0/8'}}]",
			"{'remoteAddress':'10.1.1.1'}", "f", "true" },
		{ "'strategies':[{'name':'gradualRolloutRandom','parameters':{'percentage':100}}]", "{}", "f",
			"true" },
		{ "'strategies':[{'name':'flexibleRollout','parameters':{'rollout':100,'stickiness':'random'}"
		  "}]",
			"{}", "f", "true" },
		{ "'strategies':[{'name':'default','segments':[1,2]}]", "{'beta':true}", "f", "true" },
		{ "'strategies':[{'name':'default','segments':[1,2]}]", "{'beta':'false'}", "f", "false" },
		{ CONSTRAINT("'operator':'IN','values':['true','false','1.5','1.50']"), "{'a':1.5}", "f",
			"true" },
		{ CONSTRAINT("'operator':'IN','values':['1.50']"), "{'a':1.5}", "f", "false" },
		{ CONSTRAINT("'operator':'IN','values':['x'],'caseInsensitive':true"), "{'a':'X'}", "f",
			"false" },
		{ CONSTRAINT("'operator':'NOT_IN','values':[]"), "{}", "f", "true" },
		{ CONSTRAINT("'operator':'STR_CONTAINS','values':['A.B','c'],'caseInsensitive':true"),
			"{'a':'xa.by'}", "f", "true" },
		{ CONSTRAINT("'operator':'STR_CONTAINS','values':['A.B','c'],'caseInsensitive':true"),
			"{'a':'axb'}", "f", "false" },
		{ CONSTRAINT("'operator':'STR_STARTS_WITH','values':['(X'],'caseInsensitive':true"),
			"{'a':'(xyz\\n'}", "f", "true" },
		{ CONSTRAINT("'operator':'STR_ENDS_WITH','values':['x','y'],'inverted':true"), "{'a':'z'}",
			"f", "true" },
		{ CONSTRAINT("'operator':'REGEX','value':'b|c'"), "{'a':'abd\\n'}", "f", "true" },
		{ CONSTRAINT("'operator':'DATE_BEFORE','value':'2026-01-01T00:00:00Z'"),
			"{'a':'2025-01-01T00:00:00Z'}", "f", "true" },
		{ "'strategies':[],'dependencies':[{'feature':'parent'}]", "{'p':'1'}", "f", "true" },
		{ "'strategies':[],'dependencies':[{'feature':'parent'}]", "{'p':'2'}", "f", "false" },
		{ "'strategies':[],'dependencies':[{'feature':'parent','enabled':false}]", "{'p':'2'}", "f",
			"true" },
		{ "'strategies':[],'variants':[]", "{'p':'1'}", "parent:variant",
			"{\"name\":\"blue\",\"enabled\":true,\"feature_enabled\":true}" },
		{ "'strategies':[],'dependencies':[{'feature':'parent','variants':['blue']}]", "{'p':'1'}",
			"f", "true" },
		{ "'strategies':[],'dependencies':[{'feature':'parent','variants':['red']}]", "{'p':'1'}",
			"f", "false" },
		{ "'strategies':[],'dependencies':[{'feature':'parent','variants':['red','blue']}]",
			"{'p':'2'}", "f", "false" },
		{ "'strategies':[],'dependencies':[]", "{}", "grown", "false" },
		{ "'strategies':[],'variants':[{'name':'a','weight':0}]", "{}", "f:variant",
			"{\"name\":\"disabled\",\"enabled\":false,\"feature_enabled\":true}" },
		{ "'strategies':[],'variants':[{'name':'a','weight':0,'overrides':[{'contextName':'x','"
		  "values':['1',2]}]},{'"
		  "name':'b',"
		  "'weight':1}]",
			"{'x':1}", "f:variant",
			"{\"name\":\"a\",\"enabled\":true,\"feature_enabled\":true}" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		UNIT(u);
		char file[3000];

		(void)snprintf(file, sizeof(file), UNLEASH_FILE, rows[i].feature);
		assert_true(gives(&u, EXCHANGE_UNLEASH, file, rows[i].context, rows[i].key, rows[i].value));
	}
}

/* A feature that is off keeps its strategies behind a rule that says so: to switch it on is to remove that. */
static void
a_feature_that_is_off_keeps_its_strategies(void **state)
{
	UNIT(u);
	struct exchange e = converted(&u, EXCHANGE_UNLEASH,
		"{'features':[{'name':'f','enabled':false,'description':'d','strategies':[{'name':'default','"
		"title':'t'}],"
		"'variants':[{'name':'a','weight':1,'payload':{'type':'string','value':'x'}}],'extra':1}]}");
	const struct json *f = json_get(json_get(e.ruleset, STR("flags")), STR("f")),
			  *rules = json_get(f, STR("rules"));

	(void)state;
	assert_int_equal(rules->count, 2);
	assert_false(json_get(json_at(rules, 0), STR("value"))->truth);
	assert_true(json_get(json_at(rules, 1), STR("value"))->truth);
	assert_str(json_get(json_at(rules, 1), STR("description"))->text, "t");
	assert_str(json_get(f, STR("description"))->text, "d");
	assert_non_null(find_remark(&e, "/features/0/extra", false));
	rules = json_get(json_get(json_get(e.ruleset, STR("configs")), STR("f:variant")), STR("rules"));
	assert_int_equal(rules->count, 2);
}

static void
of_events_the_last_counts(void **state)
{
	UNIT(u);
	struct exchange e = converted(&u, EXCHANGE_UNLEASH,
		"{'events':[{'type':'hydration','features':[{'name':'a','enabled':true},{'name':'b','enabled'"
		":true}],"
		"'segments':[{'id':1,'name':'one'},{'id':2,'name':'2nd'}]},"
		"{'type':'feature-updated','feature':{'name':'b','enabled':true,'strategies':[{'name':'mine'}"
		"]}},"
		"{'type':'segment-updated','segment':{'id':1,'name':'uno'}},{'type':'segment-removed','"
		"segmentId':2},"
		"{'type':'feature-removed','featureName':'a'},{'type':'new'}]}");

	(void)state;
	assert_int_equal(json_get(e.ruleset, STR("flags"))->count, 0);
	assert_int_equal(json_get(e.ruleset, STR("segments"))->count, 1);
	assert_non_null(json_get(json_get(e.ruleset, STR("segments")), STR("uno")));
	assert_non_null(find_remark(&e, "/events/1/feature/strategies/0/parameters", true));
	assert_non_null(find_remark(&e, "/events/5", false));
}

/* --- both --- */

static void
a_file_of_another_kind_is_refused_with_a_path(void **state)
{
	static const struct {
		enum exchange_format format;
		const char *file, *path;
	} rows[] = {
		{ EXCHANGE_FLAGD, "{}", "/flags" },
		{ EXCHANGE_FLAGD, "{'flags':[]}", "/flags" },
		{ EXCHANGE_FLAGD, "7", "/flags" },
		{ EXCHANGE_UNLEASH, "{}", "/features" },
		{ EXCHANGE_UNLEASH, "null", "/features" },
		{ EXCHANGE_UNLEASH, "{'features':{}}", "/features" },
		{ EXCHANGE_UNLEASH, "{'features':[],'segments':{}}", "/segments" },
		{ EXCHANGE_UNLEASH, "{'events':{}}", "/events" },
	};
	struct exchange e;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		UNIT(u);

		assert_status(exchange_read(&u.cx, rows[i].format, document(&u, rows[i].file), STR("x"), &e),
			E_INVALID);
		assert_str(u.cx.error.issues[0].path, rows[i].path);
	}
}

/* items of one kind, as one file */
static const char *
many(struct unit *u, const char *before, const char *item, unsigned n, const char *after)
{
	struct buf b;

	buf_init(&b, &u->arena, LIMIT_JSON_BYTES);
	buf_add(&b, str_of(before));
	for (unsigned i = 0; i < n; i++) {
		buf_printf(&b, i ? "," : "%s", "");
		for (const char *p = item; *p; p++)
			if (*p == '#')
				buf_printf(&b, "%u", i);
			else
				buf_add_char(&b, *p);
	}
	buf_add(&b, str_of(after));
	assert_false(b.overflow);
	return arena_cstr(&u->arena, buf_str(&b));
}

static void
what_is_too_much_is_said_and_does_not_hang(void **state)
{
	UNIT(u);
	struct exchange e;

	(void)state;
	/* more conditions than a flag may have */
	e = converted(&u, EXCHANGE_UNLEASH,
		many(&u,
			"{'features':[{'name':'f','enabled':true,'strategies':[{'name':'default','"
			"constraints':[",
			"{'contextName':'a#','operator':'IN','values':['1']}", 1100, "]}]}]}"));
	assert_int_equal(e.refusals, 1);
	/* more rules */
	e = converted(&u, EXCHANGE_UNLEASH,
		many(&u, "{'features':[{'name':'f','enabled':true,'strategies':[",
			"{'name':'default','constraints':[{'contextName':'a','operator':'IN','values':['#']}]"
			"}",
			201, "]}]}"));
	assert_int_equal(e.refusals, 1);
	assert_str(e.remarks->path, "/features/0");
	/* more events, and more items that do not fit than anybody would read about */
	assert_status(
		exchange_read(&u.cx, EXCHANGE_UNLEASH,
			document(&u, many(&u, "{'events':[", "{'type':'#'}", 2001, "]}")), STR("x"), &e),
		E_INVALID);
	ctx_clear(&u.cx);
	assert_status(
		exchange_read(&u.cx, EXCHANGE_UNLEASH,
			document(&u, many(&u, "{'features':[", "{'name':'ü#','enabled':true,'strategies':[]}",
					     1100, "]}")),
			STR("x"), &e),
		E_INVALID);
	/* a target field that is none */
	ctx_clear(&u.cx);
	assert_status(exchange_read(&u.cx, EXCHANGE_UNLEASH, document(&u, "{'features':[]}"), STR(""), &e),
		E_INVALID);
}

static void
a_full_arena_is_no_answer_of_an_importer(void **state)
{
	static const char *const files[] = {
		"{'features':[{'name':'a','enabled':true},{'name':'b','enabled':true}]}",
		"{'flags':{'a':{},'b':{}}}"
	};

	(void)state;
	for (size_t i = 0; i < COUNT(files); i++) {
		UNIT(u);
		const struct json *file = document(&u, files[i]);
		struct exchange e;

		u.arena.cap = u.arena.used;
		assert_status(exchange_read(&u.cx, i ? EXCHANGE_FLAGD : EXCHANGE_UNLEASH, file, STR("x"), &e),
			E_TOO_LARGE);
		assert_status(exchange_write(&u.cx, file, &(str){ 0 }), E_TOO_LARGE);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_sorted_with_one_member_on_a_line),
		cmocka_unit_test(what_was_written_is_read_as_it_was),
		cmocka_unit_test(what_is_no_file_of_ours_is_refused_with_a_path),
		cmocka_unit_test(formats_have_names),
		cmocka_unit_test(what_flagd_says_and_we_cannot_is_refused),
		cmocka_unit_test(what_flagd_says_is_answered_as_there),
		cmocka_unit_test(what_stands_behind_a_result_for_all_is_for_nobody),
		cmocka_unit_test(what_flagd_has_besides_is_said),
		cmocka_unit_test(logic_without_an_end_is_refused),
		cmocka_unit_test(what_unleash_says_and_we_cannot_is_refused),
		cmocka_unit_test(a_feature_must_have_a_name_and_a_state),
		cmocka_unit_test(what_lets_in_nobody_is_said),
		cmocka_unit_test(what_unleash_says_is_answered_as_there),
		cmocka_unit_test(a_feature_that_is_off_keeps_its_strategies),
		cmocka_unit_test(of_events_the_last_counts),
		cmocka_unit_test(a_file_of_another_kind_is_refused_with_a_path),
		cmocka_unit_test(what_is_too_much_is_said_and_does_not_hang),
		cmocka_unit_test(a_full_arena_is_no_answer_of_an_importer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
