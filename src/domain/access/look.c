/* SPDX-License-Identifier: Apache-2.0 */
/* Where things are and what has happened: reads that are operations already (MCP-2). */
#include "domain/access/access.h"

#include "core/audit/audit.h"
#include "core/people/place.h"

static const char *const reads_orgs[] = { "access.org.read", NULL };
static const char *const reads_projects[] = { "access.project.read", NULL };
static const char *const reads_environments[] = { "access.environment.read", NULL };
static const char *const reads_audit[] = { "audit.entry.read", NULL };

#define LOOK(name_, model_, title_, doc_, op_, rules_)                                                       \
	{                                                                                                    \
		.name = (name_), .model = (model_), .version = 1, .title = (title_), .doc = (doc_),          \
		.effect = OP_READ, .op = (op_), .rules = (rules_), .category = TOOL_CATEGORY_A,              \
		.domain = ACCESS_DOMAIN, .target = ACCESS_TARGET, .rollback = true, .run = tool_run_op       \
	}

const struct tool access_look_tools[] = {
	LOOK("org.list", "list_organizations", "List organizations",
		"Lists the organizations that you belong to: a credential belongs to one.",
		&place_ops[PLACE_ORGS], reads_orgs),
	LOOK("project.list", "list_projects", "List projects",
		"Lists the projects of the organization, each with the id that other tools take.",
		&place_ops[PLACE_PROJECTS], reads_projects),
	LOOK("environment.list", "list_environments", "List environments",
		"Lists environments, of one project or of all, each with the id that other tools take as "
		"envId.",
		&place_ops[PLACE_ENVIRONMENTS], reads_environments),
	LOOK("audit.query", "audit_query", "Query the audit log",
		"Lists audit entries, newest first. Every column is a filter; a page may be short and still "
		"have a next one.",
		&audit_ops[AUDIT_OP_LIST], reads_audit),
	LOOK("audit.describe_event", "describe_audit_event", "Describe an audit entry",
		"Gives one audit entry with what it changed.", &audit_ops[AUDIT_OP_GET], reads_audit),
	{ 0 },
};
