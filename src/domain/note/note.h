/* SPDX-License-Identifier: Apache-2.0 */
/*
 * note: a small notebook that an organization's agents and people share.
 *
 *	note.create --> note (version 1) --note.update--> version 2 ... --note.delete--> gone
 *
 * The first tools inside our own database: each handler runs in the caller's transaction, so that
 * rolled back it is the dry-run and committed it is the execution. Ids and times come from
 * the call. A note's key for token scopes is its id.
 */
#ifndef DOMAIN_NOTE_NOTE_H
#define DOMAIN_NOTE_NOTE_H

#include "core/gate/tool.h"

#define NOTE_TITLE_BYTES 200
#define NOTE_TEXT_BYTES	 20000

extern const struct tool note_tools[];

#endif
