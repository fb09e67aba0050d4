/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/scalar.h"

#include "base/check.h"
#include "base/limits.h"

#define FEW 8u /* compared one by one: faster than a hash */

struct scalar
scalar_of(const struct json *value)
{
	static const enum scalar_type types[] = {
		[JSON_NULL] = SCALAR_NONE,
		[JSON_BOOL] = SCALAR_BOOL,
		[JSON_NUMBER] = SCALAR_NUMBER,
		[JSON_STRING] = SCALAR_TEXT,
		[JSON_ARRAY] = SCALAR_ARRAY,
		[JSON_OBJECT] = SCALAR_OBJECT,
	};

	struct scalar s = { .type = value ? types[value->type] : SCALAR_NONE };

	if (s.type == SCALAR_TEXT)
		return scalar_text(value->text);
	if (s.type == SCALAR_NUMBER) {
		s.number = json_to_double(value);
		s.text = value->text;
	}
	s.truth = s.type == SCALAR_BOOL && value->truth;
	return s;
}

static size_t
digits(str *rest)
{
	size_t n = 0;

	while (n < rest->len && rest->ptr[n] >= '0' && rest->ptr[n] <= '9')
		n++;
	*rest = str_skip(*rest, n);
	return n;
}

static bool
take(str *rest, char one, char other)
{
	if (!rest->len || (rest->ptr[0] != one && rest->ptr[0] != other))
		return false;
	*rest = str_skip(*rest, 1);
	return true;
}

bool
scalar_number(str text, struct scalar *out)
{
	struct json number = { .type = JSON_NUMBER, .text = text };
	str rest = text;
	bool zero;

	(void)take(&rest, '-', '-');
	zero = rest.len && rest.ptr[0] == '0';
	switch (digits(&rest)) {
	case 0:
		return false;
	case 1:
		break;
	default:
		if (zero)
			return false;
	}
	if (take(&rest, '.', '.') && !digits(&rest))
		return false;
	if (take(&rest, 'e', 'E')) {
		size_t exponent;

		(void)take(&rest, '+', '-');
		exponent = digits(&rest);
		if (!exponent || exponent > LIMIT_JSON_EXPONENT)
			return false;
	}
	if (rest.len)
		return false;
	*out = scalar_of(&number);
	return true;
}

/* The nearest double keeps the order, so only where two are the same do the digits matter. */
int
scalar_order(const struct scalar *a, const struct scalar *b)
{
	struct json x = { .type = JSON_NUMBER, .text = a->text };
	struct json y = { .type = JSON_NUMBER, .text = b->text };

	if (a->number < b->number || a->number > b->number)
		return a->number < b->number ? -1 : 1;
	return str_eq(a->text, b->text) ? 0 : json_number_cmp(&x, &y);
}

static uint64_t
stir(uint64_t h, uint64_t word)
{
	h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 32;
}

static uint64_t
hash_text(uint64_t h, str text)
{
	uint64_t word;

	for (; text.len >= sizeof(word); text = str_skip(text, sizeof(word))) {
		memcpy(&word, text.ptr, sizeof(word));
		h = stir(h, word);
	}
	word = 0;
	if (text.len)
		memcpy(&word, text.ptr, text.len);
	return stir(h, word);
}

static uint32_t
hash(const struct set *s, const struct scalar *v)
{
	uint64_t h = stir(s->seed, (uint64_t)v->type + v->text.len * (v->type == SCALAR_TEXT));
	double number;

	if (v->type == SCALAR_TEXT)
		return (uint32_t)hash_text(h, v->text);
	number = v->type == SCALAR_NUMBER ? v->number + 0.0 : 0; /* -0 becomes 0 */
	/* equal numbers have the same double, however they are written */
	return (uint32_t)hash_text(h, v->type == SCALAR_NUMBER
					      ? (str){ (const char *)&number, sizeof(number) }
					      : (str){ (const char *)&v->truth, sizeof(v->truth) });
}

/* The place in the index where v is or would go. */
static uint32_t *
place(const struct set *s, const struct scalar *v)
{
	uint32_t at = hash(s, v) & s->mask;

	while (s->index[at] && !scalar_equal(&s->values[s->index[at] - 1], v))
		at = (at + 1) & s->mask;
	return &s->index[at];
}

status
set_reserve(struct set *s, uint32_t n)
{
	struct scalar *values = ARENA_TRY_ARRAY(s->arena, struct scalar, (size_t)n);
	uint32_t slots = 4 * FEW, *index = NULL;

	while (slots < 2 * n)
		slots *= 2;
	if (n > FEW)
		index = ARENA_TRY_ARRAY(s->arena, uint32_t, (size_t)slots);
	if (!values || (n > FEW && !index))
		return E_TOO_LARGE;
	if (s->count)
		memcpy(values, s->values, s->count * sizeof(*values));
	s->values = values;
	s->index = index;
	s->room = n;
	s->mask = slots - 1;
	for (uint32_t i = 0; index && i < s->count; i++)
		*place(s, &values[i]) = i + 1;
	return OK;
}

uint32_t
set_find(const struct set *s, const struct scalar *v)
{
	if (s->index)
		return *place(s, v) - 1; /* 0, nothing, becomes SET_NONE */
	for (uint32_t i = 0; i < s->count; i++)
		if (scalar_equal(&s->values[i], v))
			return i;
	return SET_NONE;
}

status
set_add(struct set *s, struct scalar v, uint32_t *out_at)
{
	uint32_t at = set_find(s, &v);
	char *text;

	CHECK(v.type == SCALAR_BOOL || v.type == SCALAR_NUMBER || v.type == SCALAR_TEXT);
	if (at != SET_NONE) {
		*out_at = at;
		return OK;
	}
	if (s->count == s->room)
		TRY(set_reserve(s, s->room ? 2 * s->room : FEW));
	text = arena_try_bytes(s->arena, v.text.len);
	if (!text)
		return E_TOO_LARGE;
	if (v.text.len)
		memcpy(text, v.text.ptr, v.text.len);
	v.text.ptr = text;
	s->values[s->count] = v;
	if (s->index)
		*place(s, &v) = s->count + 1;
	*out_at = s->count++;
	return OK;
}
