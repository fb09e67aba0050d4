/* SPDX-License-Identifier: Apache-2.0 */
#include "base/check.h"
#include "base/limits.h"
#include "base/meter/meter.h"
#include "json/pointer.h"
#include "json/schema/impl.h"
#include "json/schema/uri.h"

#define REF_STEPS  50u /* to take a reference apart, and to put it together with its base */
#define SORT_STEPS 10u /* of a member that is sorted */
#define NAME_STEPS 3u  /* to look at one of the names in a list: URIs may begin alike */

/* The base of a document without a URI: relative references between the documents given still work. */
#define NOWHERE STR("schema:///")

/* Dialects that are read as 2020-12. They differ where 2020-12 has new words: those are not words there. */
static const char *const older_dialects[] = {
	"http://json-schema.org/draft-06/schema",
	"http://json-schema.org/draft-07/schema",
	"https://json-schema.org/draft/2019-09/schema",
};

static const struct {
	const char *uri;
	unsigned vocabulary;
} vocabularies[] = {
	{ "https://json-schema.org/draft/2020-12/vocab/core", VOCABULARY_CORE },
	{ "https://json-schema.org/draft/2020-12/vocab/applicator",
		VOCABULARY_APPLICATOR | VOCABULARY_TUPLES },
	{ "https://json-schema.org/draft/2020-12/vocab/unevaluated", VOCABULARY_UNEVALUATED },
	{ "https://json-schema.org/draft/2020-12/vocab/validation", VOCABULARY_VALIDATION },
	{ "https://json-schema.org/draft/2020-12/vocab/format-assertion", VOCABULARY_FORMAT },
	{ "https://json-schema.org/draft/2020-12/vocab/format-annotation", VOCABULARY_ANNOTATION },
	{ "https://json-schema.org/draft/2020-12/vocab/meta-data", VOCABULARY_ANNOTATION },
	{ "https://json-schema.org/draft/2020-12/vocab/content", VOCABULARY_ANNOTATION },
};

/* --- copying: every value of the copy is the first member of a struct place --- */

static struct place *
place_of(const struct json *value)
{
	return (struct place *)(uintptr_t)value;
}

struct node *
ref_node(const struct json *value)
{
	return place_of(value)->node;
}

static status
copy_str(struct compile *k, str s, str *out)
{
	char *to = arena_try_bytes(k->arena, s.len);

	TRY(COMPILE_ROOM(k, to));
	if (s.len)
		memcpy(to, s.ptr, s.len);
	*out = (str){ to, s.len };
	return OK;
}

static status
copy(struct compile *k, const struct json *from, uint32_t depth, struct json **out)
{
	struct place *p = arena_try(k->arena, sizeof(*p));
	struct json **tail;

	TRY(COMPILE_ROOM(k, p));
	TRY(meter_spend(k->cx, COPY_STEPS + (from->text.len + from->key.len) / 64));
	if (depth > LIMIT_JSON_DEPTH)
		return fail(k->cx, E_INVALID, "the schema is nested too deeply");
	p->json = (struct json){ .type = from->type, .truth = from->truth, .count = from->count };
	TRY(copy_str(k, from->text, &p->json.text));
	TRY(copy_str(k, from->key, &p->json.key));
	tail = &p->json.child;
	JSON_EACH (child, from) {
		TRY(copy(k, child, depth + 1, tail));
		tail = &(*tail)->next;
	}
	*out = &p->json;
	return OK;
}

/* --- resources and anchors --- */

static status
count_name(struct compile *k)
{
	if (++k->names > LIMIT_SCHEMA_NAMES)
		return fail(k->cx, E_TOO_LARGE, "the schema has more than %u anchors and identifiers",
			LIMIT_SCHEMA_NAMES);
	return OK;
}

static struct resource *
find_resource(const struct compile *k, str uri)
{
	for (struct resource *r = k->resources; r; r = r->next)
		if (str_eq(r->uri, uri) || (r->alias.len && str_eq(r->alias, uri)))
			return r;
	return NULL;
}

const struct anchor *
ref_anchor(const struct resource *r, str name)
{
	for (const struct anchor *a = r->anchors; a; a = a->next)
		if (str_eq(a->name, name))
			return a;
	return NULL;
}

static status
add_anchor(struct compile *k, struct node *n, str keyword, bool dynamic)
{
	const struct json *name = json_get(n->json, keyword);
	const struct anchor *same;
	struct anchor *a;

	if (!name || name->type != JSON_STRING)
		return OK; /* what it is instead is said by the keyword's compiler */
	same = ref_anchor(n->resource, name->text);
	if (same && same->node != n)
		return compile_fail(k, n, keyword, "the anchor stands in this schema twice");
	TRY(meter_spend(k->cx, (uint64_t)k->names * NAME_STEPS));
	TRY(count_name(k));
	a = arena_try(k->arena, sizeof(*a));
	TRY(COMPILE_ROOM(k, a));
	*a = (struct anchor){
		.name = name->text, .node = n, .dynamic = dynamic, .next = n->resource->anchors
	};
	n->resource->anchors = a;
	return OK;
}

/* --- dialects --- */

static const struct json *
find_document(struct compile *k, str uri)
{
	for (size_t i = 0; k->options && i < k->options->document_count; i++) {
		str given;
		if (uri_resolve(k->cx, NOWHERE, k->options->documents[i].uri, &given) == OK &&
			str_eq(given, uri))
			return k->options->documents[i].doc;
	}
	return NULL;
}

static status
read_vocabulary(struct compile *k, const struct node *n, const struct json *meta, unsigned *out)
{
	const struct json *list = json_get(meta, STR("$vocabulary"));
	unsigned known = VOCABULARY_CORE;

	if (!list) {
		*out = VOCABULARY_2020;
		return OK;
	}
	JSON_EACH (v, list) {
		unsigned one = 0;
		for (size_t i = 0; i < sizeof(vocabularies) / sizeof(vocabularies[0]); i++)
			if (str_eq(v->key, str_of(vocabularies[i].uri)))
				one = vocabularies[i].vocabulary;
		if (!one && v->type == JSON_BOOL && v->truth)
			return compile_fail(k, n, STR("$schema"),
				"needs a vocabulary that is not known here: %.*s",
				STR_ARG(issue_text(v->key)));
		known |= one;
	}
	*out = known;
	return OK;
}

/* Which keywords mean something in the resource that begins at n. */
static status
set_dialect(struct compile *k, struct node *n)
{
	const struct json *named = json_get(n->json, STR("$schema"));
	const struct json *meta;
	str uri;

	if (!named || named->type != JSON_STRING)
		return OK;
	TRY(uri_resolve(k->cx, NOWHERE, named->text, &uri));
	n->resource->vocabulary = VOCABULARY_2020;
	if (str_eq(uri, STR(META_2020)))
		return OK;
	for (size_t i = 0; i < sizeof(older_dialects) / sizeof(older_dialects[0]); i++)
		if (str_eq(uri, str_of(older_dialects[i]))) {
			n->resource->vocabulary = VOCABULARY_2020 & ~(unsigned)VOCABULARY_TUPLES;
			return OK;
		}
	meta = find_document(k, uri);
	if (!meta)
		return compile_fail(k, n, STR("$schema"),
			"names a dialect that is not known here; write \"" META_2020 "\"");
	TRY(read_vocabulary(k, n, meta, &n->resource->vocabulary));
	return k->is_meta ? OK : compile_against(k, n, meta, uri);
}

/* --- nodes --- */

static status make_node(struct compile *k, const struct json *value, struct node like, struct node **out);

static status
make_part(struct compile *k, struct node *n, const struct keyword *word, const struct json *part, str name)
{
	struct node like = { .resource = n->resource, .parent = n, .keyword = word->name, .name = name };
	struct node *made;

	if (word->shape == SHAPE_MIXED_MAP && part->type == JSON_ARRAY)
		return OK;
	return make_node(k, part, like, &made);
}

/* The subschemas in one keyword's value. What has the wrong type is left to the keyword's compiler. */
static status
make_parts(struct compile *k, struct node *n, const struct keyword *word, const struct json *value)
{
	uint32_t index = 0;

	if (word->shape == SHAPE_SCHEMA)
		return make_part(k, n, word, value, STR(""));
	if (word->shape == SHAPE_LIST && value->type == JSON_ARRAY)
		JSON_EACH (item, value) {
			str name = STR("");
			TRY(copy_str(k, arena_printf(k->cx->arena, "%u", index++), &name));
			TRY(make_part(k, n, word, item, name));
		}
	if ((word->shape == SHAPE_MAP || word->shape == SHAPE_MIXED_MAP) && value->type == JSON_OBJECT)
		JSON_EACH (member, value)
			TRY(make_part(k, n, word, member, member->key));
	return OK;
}

/* $id begins a resource; *n becomes part of it. */
static status
enter_resource(struct compile *k, struct node *n, str id, str alias)
{
	struct resource *r = arena_try(k->arena, sizeof(*r));
	str uri;

	TRY(COMPILE_ROOM(k, r));
	TRY(meter_spend(k->cx, REF_STEPS + (uint64_t)k->names * NAME_STEPS));
	TRY(count_name(k));
	TRY(uri_resolve(k->cx, n->resource ? n->resource->uri : NOWHERE, id, &uri));
	if (find_resource(k, uri))
		return compile_fail(k, n, STR("$id"), "stands for two schemas");
	TRY(copy_str(k, uri, &r->uri));
	TRY(copy_str(k, alias, &r->alias));
	r->node = n;
	r->vocabulary = n->resource ? n->resource->vocabulary : VOCABULARY_2020;
	r->next = k->resources;
	k->resources = r;
	n->resource = r;
	return set_dialect(k, n);
}

static status
fill_node(struct compile *k, struct node *n)
{
	const struct json *id = json_get(n->json, STR("$id"));

	if (id && id->type == JSON_STRING && n->resource->node != n)
		TRY(enter_resource(k, n, id->text, STR("")));
	TRY(add_anchor(k, n, STR("$dynamicAnchor"), true));
	TRY(add_anchor(k, n, STR("$anchor"), false));
	JSON_EACH (member, n->json) {
		const struct keyword *word = keyword_find(member->key);
		if (word && word->shape != SHAPE_PLAIN && (word->vocabulary & n->resource->vocabulary))
			TRY(make_parts(k, n, word, member));
	}
	return OK;
}

static status
make_node(struct compile *k, const struct json *value, struct node like, struct node **out)
{
	struct node *n = place_of(value)->node;

	if (n) {
		*out = n;
		return OK;
	}
	n = arena_try(k->arena, sizeof(*n));
	TRY(COMPILE_ROOM(k, n));
	*n = like;
	n->json = value;
	if (value->type == JSON_BOOL)
		n->kind = value->truth ? NODE_TRUE : NODE_FALSE;
	else if (value->type != JSON_OBJECT)
		return compile_fail(k, n, STR(""), "must be a schema: an object, true or false%s",
			value->type == JSON_ARRAY && str_eq(like.keyword, STR("items"))
				? " (a list of schemas is prefixItems in 2020-12)"
				: "");
	place_of(value)->node = n;
	*k->last = n;
	k->last = &n->next;
	*out = n;
	return value->type == JSON_OBJECT && n->resource ? fill_node(k, n) : OK;
}

status
ref_load(struct compile *k, const struct json *doc, str uri, struct node **out_root)
{
	const struct json *id;
	struct node *n = NULL;
	struct json *root;
	str given;

	TRY(copy(k, doc, 0, &root));
	TRY(uri_resolve(k->cx, NOWHERE, uri, &given));
	TRY(make_node(k, root, (struct node){ .keyword = STR("") }, &n));
	CHECK(n != NULL);
	id = json_get(root, STR("$id"));
	if (id && id->type == JSON_STRING) {
		struct resource base = { .uri = given, .vocabulary = VOCABULARY_2020 };
		n->resource = &base;
		TRY(enter_resource(k, n, id->text, given));
	} else {
		TRY(enter_resource(k, n, given, STR("")));
	}
	*out_root = n;
	return n->kind == NODE_RULES ? fill_node(k, n) : OK;
}

/* --- references --- */

/* Finds the resource, or takes it from the documents given or built in. NULL where there is none. */
static status
find_or_load(struct compile *k, str uri, struct resource **out)
{
	struct resource *r = find_resource(k, uri);
	const struct json *doc;
	struct node *root;
	str text;

	*out = r;
	if (r)
		return OK;
	doc = find_document(k, uri);
	text = meta_text(uri);
	if (!doc && text.len) {
		struct json *parsed;
		TRY(json_parse(k->cx, text, &parsed));
		doc = parsed;
	}
	if (!doc)
		return OK;
	TRY(ref_load(k, doc, uri, &root));
	*out = root->resource;
	return OK;
}

/* A pointer's token without its escapes; false where a ~ stands for nothing. */
static bool
unescape(struct arena *a, str token, str *out_name)
{
	char *to = arena_try_bytes(a, token.len);
	size_t n = 0;

	for (size_t i = 0; to && i < token.len; i++) {
		char c = token.ptr[i];
		if (c == '~') {
			c = ++i < token.len ? token.ptr[i] : '\0';
			if (c != '0' && c != '1')
				return false;
			c = c == '0' ? '~' : '/';
		}
		to[n++] = c;
	}
	*out_name = (str){ to, n };
	return to != NULL;
}

/* The member called name. Large objects, like $defs, are sorted at the first question. */
static status
find_member(struct compile *k, const struct json *object, str name, const struct json **out)
{
	struct place *p = place_of(object);
	size_t low = 0, high = object->count;

	*out = NULL;
	if (!p->sorted) {
		TRY(meter_spend(k->cx, (uint64_t)object->count * SORT_STEPS));
		p->sorted = json_sorted(k->arena, object);
	}
	TRY(COMPILE_ROOM(k, p->sorted));
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = json_key_cmp(name, p->sorted[middle]->key);
		if (order == 0) {
			*out = p->sorted[middle];
			return OK;
		}
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return OK;
}

/* One step of a pointer; token begins with its slash. */
static status
follow_token(struct compile *k, const struct json *from, str token, const struct json **out)
{
	str name;

	*out = NULL;
	if (from->type != JSON_OBJECT) {
		TRY(meter_spend(k->cx, from->count));
		*out = pointer_get(k->cx->arena, from, token);
		return OK;
	}
	return unescape(k->cx->arena, str_skip(token, 1), &name) ? find_member(k, from, name, out) : OK;
}

/* Follows a JSON Pointer from r; *out stays NULL where it leads nowhere. */
static status
follow_pointer(struct compile *k, struct resource *r, str pointer, struct node **out)
{
	const struct json *at = r->node->json;
	struct node like = { .parent = r->node };

	TRY(meter_spend(k->cx, pointer.len));
	TRY(copy_str(k, str_skip(pointer, 1), &like.keyword));
	while (at && pointer.len) {
		size_t end = 1 + str_find(str_skip(pointer, 1), '/');
		TRY(follow_token(k, at, (str){ pointer.ptr, end }, &at));
		pointer = str_skip(pointer, end);
		if (at && place_of(at)->node)
			r = place_of(at)->node->resource;
	}
	like.resource = r;
	return at ? make_node(k, at, like, out) : OK;
}

static status
follow_fragment(struct compile *k, struct resource *r, str fragment, struct node **out, str *out_dynamic)
{
	const struct anchor *a;
	str name;

	if (!uri_decode(k->cx->arena, fragment, &name))
		return OK;
	if (!name.len) {
		*out = r->node;
		return OK;
	}
	if (name.ptr[0] == '/')
		return follow_pointer(k, r, name, out);
	a = ref_anchor(r, name);
	if (a) {
		*out = a->node;
		*out_dynamic = a->dynamic ? a->name : STR("");
	}
	return OK;
}

status
ref_resolve(struct compile *k, const struct node *n, str keyword, str reference, struct node **out_node,
	str *out_dynamic)
{
	struct resource *r = NULL;
	struct node *found = NULL;
	str uri, dynamic = STR("");

	TRY(meter_spend(k->cx, REF_STEPS + (uint64_t)k->names * NAME_STEPS));
	TRY(uri_resolve(k->cx, n->resource->uri, reference, &uri));
	TRY(find_or_load(k, uri, &r));
	if (r)
		TRY(follow_fragment(k, r, uri_split(reference).fragment, &found, &dynamic));
	if (!found)
		return compile_fail(k, n, keyword,
			"leads nowhere: %.*s (nothing is fetched from the network)",
			STR_ARG(issue_text(reference)));
	*out_node = found;
	*out_dynamic = dynamic;
	return OK;
}
