/* SPDX-License-Identifier: Apache-2.0 */
/* The modules of the program. A new one is listed here, by hand, once. */
#include "app/app.h"

#include "app/server_ops.h"
#include "core/audit/audit.h"
#include "core/document.h"
#include "core/gate/budget.h"
#include "core/gate/gate.h"
#include "core/gate/quick/lease.h"
#include "core/oauth/register.h"
#include "core/oidc/account.h"
#include "core/oidc/oidc.h"
#include "core/proposal/proposal.h"
#include "domain/access/access.h"
#include "domain/flag/change/change.h"
#include "domain/flag/exchange/export_ops.h"
#include "domain/flag/live/evaluate_ops.h"
#include "domain/flag/reservoir/reservoir.h"
#include "domain/flag/store/ops.h"
#include "domain/flag/store/store.h"
#include "domain/note/note.h"
#include "exec/health.h"
#include "exec/upstream/authorization.h"
#include "exec/upstream/upstream.h"
#include "exec/webhook/callback.h"
#include "exec/webhook/hook.h"
#include "exec/webhook/courier.h"
#include "exec/webhook/declared.h"
#include "core/people/link/link.h"
#include "core/people/member.h"
#include "core/people/place.h"
#include "core/people/role.h"
#include "core/people/setup.h"
#include "core/people/team.h"
#include "core/gate/settings.h"
#include "core/ident/session.h"
#include "core/ident/token.h"

const struct op *const app_ops[] = {
	server_ops,
	document_ops,
	setup_ops,
	session_ops,
	oidc_ops,
	member_ops,
	link_ops,
	account_ops,
	agent_ops,
	role_ops,
	token_ops,
	place_ops,
	project_ops,
	item_ops,
	audit_ops,
	gate_ops,
	budget_ops,
	proposal_ops,
	call_ops,
	settle_ops,
	explain_ops,
	team_ops,
	settings_ops,
	evaluate_ops,
	exchange_ops,
	reservoir_ops,
	upstream_ops,
	authorization_ops,
	upstream_tool_ops,
	hook_ops,
	declared_ops,
	delivery_ops,
	health_ops,
	NULL,
};

const struct tool *const app_tools[] = {
	access_tools,
	access_token_tools,
	access_look_tools,
	change_tools,
	change_small_tools,
	change_import_tools,
	change_promote_tools,
	change_read_tools,
	note_tools,
	NULL,
};

status (*const app_sweeps[])(struct ctx *cx) = {
	store_sweep,
	register_sweep,
	callback_sweep,
	courier_sweep,
	lease_sweep,
	NULL,
};
