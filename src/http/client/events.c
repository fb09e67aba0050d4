/* SPDX-License-Identifier: Apache-2.0 */
#include "http/client/events.h"

void
events_init(struct events *e, struct arena *a, size_t max)
{
	*e = (struct events){ .retry_ms = -1 };
	buf_init(&e->line, a, max);
	buf_init(&e->data, a, max);
	buf_init(&e->id, a, max / 100);
}

static void
clear(struct buf *b)
{
	b->len = 0;
}

static void
take_field(struct events *e, str name, str value)
{
	int64_t n;

	if (str_eq(name, STR("data"))) {
		if (e->has_data)
			buf_add_char(&e->data, '\n');
		buf_add(&e->data, value);
		e->has_data = true;
	} else if (str_eq(name, STR("id")) && str_find(value, '\0') == value.len) {
		clear(&e->id);
		buf_add(&e->id, value);
	} else if (str_eq(name, STR("retry")) && str_to_int(value, &n) && n >= 0) {
		e->retry_ms = n;
	}
}

static void
take_line(struct events *e, str line, events_fn *fn, void *arg)
{
	str name = line, value = { 0 };

	if (line.len) {
		if (str_cut(line, ':', &name, &value) && str_starts(value, STR(" ")))
			value = str_skip(value, 1);
		take_field(e, name, value);
		return;
	}
	if (e->has_data)
		fn(arg, buf_str(&e->data));
	e->has_data = false;
	clear(&e->data);
}

bool
events_feed(struct events *e, str bytes, events_fn *fn, void *arg)
{
	for (size_t i = 0; i < bytes.len; i++) {
		char c = bytes.ptr[i];
		bool ends = c == '\r' || (c == '\n' && !e->after_cr); /* "\r\n" ends one line, not two */

		if (c != '\n' && c != '\r')
			buf_add_char(&e->line, c);
		if (ends && !e->line.overflow)
			take_line(e, buf_str(&e->line), fn, arg);
		if (ends)
			clear(&e->line);
		e->after_cr = c == '\r';
		if (e->line.overflow || e->data.overflow || e->id.overflow)
			return false;
	}
	return true;
}
