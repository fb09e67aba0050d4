/* SPDX-License-Identifier: Apache-2.0 */
/* The modules of the program. A new one is listed here, by hand, once. */
#include "app/app.h"

#include "app/server_ops.h"
#include "core/audit/audit.h"
#include "core/document.h"
#include "core/gate/gate.h"
#include "core/proposal/proposal.h"
#include "domain/note/note.h"

const struct op *const app_ops[] = {
	server_ops,
	document_ops,
	audit_ops,
	gate_ops,
	proposal_ops,
	NULL,
};

const struct tool *const app_tools[] = {
	note_tools,
	NULL,
};
