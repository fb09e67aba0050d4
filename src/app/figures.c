/* SPDX-License-Identifier: Apache-2.0 */
#include "app/figures.h"

#include "face/rest/rest.h"

#include <inttypes.h>

static const struct {
	int64_t us;
	const char *seconds; /* as Prometheus writes it */
} bounds[FIGURE_BUCKETS - 1] = {
	{ 100, "0.0001" },
	{ 500, "0.0005" },
	{ 1000, "0.001" },
	{ 5000, "0.005" },
	{ 10000, "0.01" },
	{ 50000, "0.05" },
	{ 100000, "0.1" },
	{ 500000, "0.5" },
	{ 1000000, "1" },
};

void
figures_init(struct figures *f, struct arena *a, const struct http_route *routes, size_t count)
{
	*f = (struct figures){ .routes = routes, .count = count };
	f->by_route = arena_alloc(a, (count + 1) * sizeof(*f->by_route));
}

static void
add(atomic_int_fast64_t *n, int64_t more)
{
	(void)atomic_fetch_add_explicit(n, more, memory_order_relaxed);
}

static int64_t
now(const atomic_int_fast64_t *n)
{
	return atomic_load_explicit(n, memory_order_relaxed);
}

void
figures_count(struct figures *f, const struct http_exchange *x, int64_t duration_us)
{
	size_t row = x->route ? (size_t)(x->route - f->routes) : f->count;
	struct figure *figure = &f->by_route[row];
	size_t bucket = 0;

	while (bucket < FIGURE_BUCKETS - 1 && duration_us > bounds[bucket].us)
		bucket++;
	add(&figure->answers[x->status >= 100 && x->status < 600 ? x->status / 100 : 0], 1);
	add(&figure->buckets[bucket], 1);
	add(&figure->total_us, duration_us);
}

static const char *
name_of(const struct figures *f, size_t row)
{
	const struct op *op = row < f->count ? rest_op_of(&f->routes[row]) : NULL;

	if (op)
		return op->name;
	return row < f->count ? "page" : "none";
}

/* Rows may share a name (pages): they are summed, so that no series is written twice. */
static bool
is_first_of_name(const struct figures *f, size_t row)
{
	for (size_t i = 0; i < row; i++)
		if (strcmp(name_of(f, i), name_of(f, row)) == 0)
			return false;
	return true;
}

static struct figure
sum_of_name(const struct figures *f, size_t first)
{
	struct figure sum = { 0 };

	for (size_t row = first; row <= f->count; row++) {
		const struct figure *figure = &f->by_route[row];

		if (strcmp(name_of(f, row), name_of(f, first)) != 0)
			continue;
		for (size_t i = 0; i < 6; i++)
			sum.answers[i] += now(&figure->answers[i]);
		for (size_t i = 0; i < FIGURE_BUCKETS; i++)
			sum.buckets[i] += now(&figure->buckets[i]);
		sum.total_us += now(&figure->total_us);
	}
	return sum;
}

static void
write_answers(struct buf *b, const char *name, const struct figure *sum)
{
	for (size_t class = 1; class < 6; class ++)
		if (class == 2 || now(&sum->answers[class]))
			buf_printf(b,
				"countersign_http_answers_total{op=\"%s\",status=\"%zuxx\"} %" PRId64 "\n",
				name, class, now(&sum->answers[class]));
}

static void
write_durations(struct buf *b, const char *name, const struct figure *sum)
{
	static const char metric[] = "countersign_http_answer_seconds";
	int64_t count = 0;

	for (size_t i = 0; i < FIGURE_BUCKETS; i++) {
		count += now(&sum->buckets[i]);
		buf_printf(b, "%s_bucket{op=\"%s\",le=\"%s\"} %" PRId64 "\n", metric, name,
			i < FIGURE_BUCKETS - 1 ? bounds[i].seconds : "+Inf", count);
	}
	buf_printf(b, "%s_sum{op=\"%s\"} %" PRId64 ".%06" PRId64 "\n", metric, name,
		now(&sum->total_us) / 1000000, now(&sum->total_us) % 1000000);
	buf_printf(b, "%s_count{op=\"%s\"} %" PRId64 "\n", metric, name, count);
}

void
figures_write(const struct figures *f, struct buf *b)
{
	buf_add(b, STR("# HELP countersign_http_answers_total Answers by operation and class of status.\n"
		       "# TYPE countersign_http_answers_total counter\n"));
	for (size_t row = 0; row <= f->count; row++) {
		struct figure sum = sum_of_name(f, row);

		if (is_first_of_name(f, row))
			write_answers(b, name_of(f, row), &sum);
	}
	buf_add(b, STR("# HELP countersign_http_answer_seconds From the request's head to its answer.\n"
		       "# TYPE countersign_http_answer_seconds histogram\n"));
	for (size_t row = 0; row <= f->count; row++) {
		struct figure sum = sum_of_name(f, row);

		if (is_first_of_name(f, row))
			write_durations(b, name_of(f, row), &sum);
	}
}
