/* SPDX-License-Identifier: Apache-2.0 */
#include "json/digits/shortest.h"

#include <charconv>

void
shortest_text(double n, char out[SHORTEST_ROOM])
{
	/* 17 digits, a point and an exponent of three fit, so it cannot fail */
	*std::to_chars(out, out + SHORTEST_ROOM - 1, n, std::chars_format::scientific).ptr = '\0';
}
