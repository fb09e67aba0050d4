/* SPDX-License-Identifier: Apache-2.0 */
/* weigh: how much work an answer can be, so that a thread that serves everybody can leave it to another. */
#include "domain/flag/impl.h"

#define PATTERN_WEIGHT 100u /* of one instruction: a pattern is as long as the text it looks at */

static uint64_t
weigh_condition(const struct condition *c)
{
	uint64_t sum = 1;

	switch (c->kind) {
	case CONDITION_EVERYBODY:
	case CONDITION_SEGMENT: /* each is decided once: it is among the segments */
		return 1;
	case CONDITION_LEAF:
		return 1 + (uint64_t)c->count; /* the blocks of $cidr are looked at one by one */
	case CONDITION_MATCH:
		return PATTERN_WEIGHT * regex_program(c->as.regex);
	case CONDITION_AND:
	case CONDITION_OR:
	case CONDITION_NOT:
		break;
	}
	for (uint32_t i = 0; i < c->count; i++)
		sum += weigh_condition(&c->as.children[i]);
	return sum;
}

static uint64_t
weigh_rules(const struct rule *rules, uint32_t count)
{
	uint64_t sum = 1;

	for (uint32_t i = 0; i < count; i++)
		sum += weigh_condition(&rules[i].condition);
	return sum;
}

void
ruleset_weigh(struct ruleset *rs)
{
	for (uint32_t i = 0; i < rs->segment_keys.count; i++)
		rs->segment_weight += weigh_rules(rs->segments[i].rules, rs->segments[i].rule_count);
	for (uint32_t i = 0; i < rs->item_keys.count; i++)
		rs->items[i].weight = weigh_rules(rs->items[i].rules, rs->items[i].rule_count);
}

uint64_t
ruleset_weight(const struct ruleset *rs, const struct item *item)
{
	return rs->segment_weight + item->weight;
}

str
ruleset_target(const struct ruleset *rs)
{
	return rs->fields.values[rs->target].text;
}
