/* SPDX-License-Identifier: Apache-2.0 */
#include "base/random.h"

#include "base/check.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/random.h>

/* The tests' sequence; 0: the kernel's. */
static _Atomic uint64_t seeded;

/* splitmix64: good enough to be fair, plain enough to be repeated elsewhere */
static uint64_t
next_seeded(void)
{
	uint64_t z = atomic_fetch_add(&seeded, UINT64_C(0x9e3779b97f4a7c15)) + UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

void
random_bytes(void *out, size_t n)
{
	unsigned char *p = out;

	if (atomic_load(&seeded)) {
		for (size_t i = 0; i < n; i++)
			p[i] = (unsigned char)next_seeded();
		return;
	}
	while (n > 0) {
		/* checksrc: allow getrandom (this is base/random) */
		ssize_t got = getrandom(p, n, 0);

		if (got < 0) {
			CHECK(errno == EINTR);
			continue;
		}
		p += got;
		n -= (size_t)got;
	}
}

str
random_hex(struct arena *a, size_t n)
{
	static const char digit[] = "0123456789abcdef";
	unsigned char bytes[64];
	char text[2 * sizeof(bytes)];

	CHECK(n <= sizeof(bytes));
	random_bytes(bytes, n);
	for (size_t i = 0; i < n; i++) {
		text[2 * i] = digit[bytes[i] >> 4];
		text[2 * i + 1] = digit[bytes[i] & 15];
	}
	return arena_str(a, (str){ text, 2 * n });
}

void
random_seed(uint64_t seed)
{
	atomic_store(&seeded, seed);
}
