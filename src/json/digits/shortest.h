/* SPDX-License-Identifier: Apache-2.0 */
/* shortest: the shortest digits that are read back as a double, the nearest of those: C++'s library has them, C's has not. */
#ifndef JSON_DIGITS_SHORTEST_H
#define JSON_DIGITS_SHORTEST_H

#ifdef __cplusplus
extern "C" {
#endif

#define SHORTEST_ROOM 32

/* Of a finite number above zero, as "d.ddde-xx", "de+xx". */
void shortest_text(double n, char out[SHORTEST_ROOM]);

#ifdef __cplusplus
}
#endif
#endif
