/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include "base/check.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <time.h>

/* The tests' hand on the clock; 0: the real one. */
static _Atomic int64_t frozen_us;

static int64_t
read_us(clockid_t which)
{
	int64_t frozen = atomic_load_explicit(&frozen_us, memory_order_relaxed);
	struct timespec t;

	if (frozen)
		return frozen;
	/* checksrc: allow clock_gettime (this is base/clock) */
	CHECK(clock_gettime(which, &t) == 0);
	return (int64_t)t.tv_sec * SECOND_US + t.tv_nsec / 1000;
}

int64_t
clock_now_us(void)
{
	return read_us(CLOCK_REALTIME);
}

int64_t
clock_mono_us(void)
{
	return read_us(CLOCK_BOOTTIME);
}

void
clock_freeze(int64_t now_us)
{
	atomic_store(&frozen_us, now_us);
}

void
clock_release(void)
{
	atomic_store(&frozen_us, 0);
}

/* The years 0 to 9999, which is all that RFC 3339 has digits for. */
#define FIRST_US INT64_C(-62167219200000000)
#define LAST_US	 INT64_C(253402300799999999)

/* The last digits of n. An answer has many times, and printf would take most of the time to print it. */
static void
put(char *at, size_t digits, int n)
{
	for (size_t i = digits; i > 0; i--, n /= 10)
		at[i - 1] = (char)('0' + n % 10);
}

str
clock_text(struct arena *a, int64_t us)
{
	char text[] = "YYYY-MM-DDThh:mm:ss.uuuuuuZ";
	time_t seconds;
	int64_t sub;
	struct tm t;

	us = us < FIRST_US ? FIRST_US : us > LAST_US ? LAST_US : us;
	sub = us % SECOND_US;
	seconds = (time_t)(us / SECOND_US);
	if (sub < 0) {
		sub += SECOND_US;
		seconds--;
	}
	CHECK(gmtime_r(&seconds, &t) != NULL);
	put(text, 4, t.tm_year + 1900);
	put(text + 5, 2, t.tm_mon + 1);
	put(text + 8, 2, t.tm_mday);
	put(text + 11, 2, t.tm_hour);
	put(text + 14, 2, t.tm_min);
	put(text + 17, 2, t.tm_sec);
	put(text + 20, 6, (int)sub);
	return arena_str(a, str_of(text));
}

/* The next digits of s as a number in [least, most], then one of the bytes in after ("" takes none). */
static bool
take_number(str *s, size_t digits, int64_t least, int64_t most, const char *after, int64_t *out_n)
{
	if (s->len < digits + (*after != 0) || s->ptr[0] == '-' ||
		!str_to_int((str){ s->ptr, digits }, out_n) || *out_n < least || *out_n > most)
		return false;
	if (*after && (!s->ptr[digits] || !strchr(after, s->ptr[digits])))
		return false;
	*s = str_skip(*s, digits + (*after != 0));
	return true;
}

/* Days since 1970 of a date of the Gregorian calendar; years begin in March, so that a leap day is the last.
 */
static int64_t
days_since_epoch(int64_t year, int64_t month, int64_t day)
{
	int64_t y = year - (month <= 2), m = (month + 9) % 12;

	return y * 365 + (y + 400) / 4 - (y + 400) / 100 + (y + 400) / 400 - 97 + (m * 153 + 2) / 5 + day -
	       1 - 719468;
}

static bool
take_date(str *s, int64_t *out_days)
{
	static const int64_t last[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	int64_t year, month, day;
	bool leap;

	if (!take_number(s, 4, 0, 9999, "-", &year) || !take_number(s, 2, 1, 12, "-", &month) ||
		!take_number(s, 2, 1, 31, "Tt", &day))
		return false;
	leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
	if (day > last[month - 1] + (month == 2 && leap))
		return false;
	*out_days = days_since_epoch(year, month, day);
	return true;
}

/* ".123" as microseconds; nothing is 0. */
static bool
take_fraction(str *s, int64_t *out_us)
{
	int64_t us = 0, unit = SECOND_US / 10;
	size_t n = 1;

	*out_us = 0;
	if (!s->len || s->ptr[0] != '.')
		return true;
	for (; n < s->len && s->ptr[n] >= '0' && s->ptr[n] <= '9'; n++, unit /= 10)
		us += (s->ptr[n] - '0') * unit;
	*s = str_skip(*s, n);
	*out_us = us;
	return n > 1;
}

/* "Z", "+02:00" as seconds; it ends the text. */
static bool
take_offset(str s, int64_t *out_seconds)
{
	int64_t hours, minutes, sign = s.len && s.ptr[0] == '-' ? -1 : 1;

	*out_seconds = 0;
	if (s.len == 1)
		return s.ptr[0] == 'Z' || s.ptr[0] == 'z';
	if (!s.len || (s.ptr[0] != '+' && s.ptr[0] != '-'))
		return false;
	s = str_skip(s, 1);
	if (!take_number(&s, 2, 0, 23, ":", &hours) || !take_number(&s, 2, 0, 59, "", &minutes) || s.len)
		return false;
	*out_seconds = sign * (hours * 3600 + minutes * 60);
	return true;
}

bool
clock_parse(str text, int64_t *out_us)
{
	int64_t days, hour, minute, second, fraction, offset;

	if (!take_date(&text, &days) || !take_number(&text, 2, 0, 23, ":", &hour) ||
		!take_number(&text, 2, 0, 59, ":", &minute) || !take_number(&text, 2, 0, 60, "", &second) ||
		!take_fraction(&text, &fraction) || !take_offset(text, &offset))
		return false;
	*out_us = (days * 86400 + hour * 3600 + minute * 60 + second - offset) * SECOND_US + fraction;
	return true;
}
