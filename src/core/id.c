/* SPDX-License-Identifier: Apache-2.0 */
#include "core/id.h"

#include "base/clock.h"
#include "base/random.h"
#include "base/scoped.h"

#define COUNTER_BITS 30
#define COUNTER_MASK ((UINT64_C(1) << COUNTER_BITS) - 1)

/* What "later" means in this process. Documented in the header; nobody else sees it. */
static struct {
	pthread_mutex_t lock;
	int64_t last_us;  /* of the newest id_new */
	uint64_t counter; /* of all ids */
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The upper half: 48 bits of milliseconds, the version, 12 bits of the fraction. */
static uint64_t
upper(int64_t us)
{
	uint64_t t = us > 0 ? (uint64_t)us : 0;

	return (t / 1000) << 16 | UINT64_C(7) << 12 | (t % 1000) * 4096 / 1000;
}

/* The last hexadecimal digits of n. */
static void
put(char *at, size_t digits, uint64_t n)
{
	for (size_t i = digits; i > 0; i--, n >>= 4)
		at[i - 1] = "0123456789abcdef"[n & 15];
}

/* The lower half: the variant and 62 bits. */
static str
print(struct arena *a, uint64_t high, uint64_t low)
{
	char text[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

	low = (low & ~(UINT64_C(3) << 62)) | UINT64_C(2) << 62;
	put(text, 8, high >> 32);
	put(text + 9, 4, high >> 16);
	put(text + 14, 4, high);
	put(text + 19, 4, low >> 48);
	put(text + 24, 12, low);
	return arena_str(a, str_of(text));
}

static uint64_t
lower(uint64_t counter)
{
	uint32_t noise;

	random_bytes(&noise, sizeof(noise));
	return (counter & COUNTER_MASK) << 32 | noise;
}

static uint64_t
take(int64_t *inout_us, bool newest)
{
	scoped_lock held = lock(&state.lock);
	uint64_t counter = state.counter++;

	if (!newest)
		return counter;
	if (*inout_us < state.last_us)
		*inout_us = state.last_us;
	if ((counter & COUNTER_MASK) == 0) /* begins anew: only a later time keeps the order */
		++*inout_us;
	state.last_us = *inout_us;
	return counter;
}

str
id_new(struct arena *a)
{
	int64_t us = clock_now_us();
	uint64_t counter = take(&us, true);

	return print(a, upper(us), lower(counter));
}

str
id_at(struct arena *a, int64_t us)
{
	uint64_t counter = take(&us, false);

	return print(a, upper(us), lower(counter));
}

str
id_floor(struct arena *a, int64_t us)
{
	return print(a, upper(us), 0);
}

bool
id_valid(str id)
{
	if (id.len != ID_LENGTH)
		return false;
	for (size_t i = 0; i < id.len; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		bool hex = (id.ptr[i] >= '0' && id.ptr[i] <= '9') || (id.ptr[i] >= 'a' && id.ptr[i] <= 'f');

		if (dash ? id.ptr[i] != '-' : !hex)
			return false;
	}
	return true;
}

status
id_check_cursor(struct ctx *cx, str cursor)
{
	return !cursor.len || id_valid(cursor)
		       ? OK
		       : fail(cx, E_INVALID, "the cursor is not one that a list gave");
}
