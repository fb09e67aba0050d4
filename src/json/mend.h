/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mend: reads what another system has answered although it is not quite JSON as we accept it (json.h).
 *
 *	text --json_parse--> document
 *	  `--refused--> mended text --json_parse--> document, and what was replaced
 *
 * Only for answers to what was sent already: to refuse one would lose what became of it. Halves of surrogate pairs,
 * U+0000 and bytes that are not UTF-8 become U+FFFD; control characters are escaped; of members with one name the last
 * counts, as in JavaScript; what is nested too deeply becomes a string with its text. Of a document that is too large
 * only the top level is read: the values of its members that are arrays or objects are strings with their text.
 */
#ifndef JSON_MEND_H
#define JSON_MEND_H

#include "json/json.h"

/* Whether, and what first, was replaced. */
struct mended {
	const char *what; /* "half of a surrogate pair"; NULL: nothing, the document is as it came */
	bool top_only;	  /* it is too large: only its top level was read */
};

/* E_BAD_JSON  it is no JSON at all, or has more than LIMIT_JSON_HEARD bytes */
status json_parse_mended(struct ctx *cx, str text, struct json **out_doc, struct mended *out) MUST_USE;

#endif
