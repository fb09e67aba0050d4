/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proposal/lifecycle.h"

#include "base/check.h"

static const char *const names[] = {
#define X(name, text) [PROPOSAL_##name] = text,
	PROPOSAL_STATES(X)
#undef X
};

static const struct {
	enum proposal_state from;
	enum proposal_event event;
	enum proposal_state to;
} steps[] = {
#define X(f, e, t) { PROPOSAL_##f, PROPOSAL_EVENT_##e, PROPOSAL_##t },
	PROPOSAL_STEPS(X)
#undef X
};
#define STEPS (sizeof(steps) / sizeof(steps[0]))

const char *
proposal_state_name(enum proposal_state s)
{
	CHECK((unsigned)s < PROPOSAL_STATE_COUNT);
	return names[s];
}

bool
proposal_state_of(str name, enum proposal_state *out_state)
{
	for (int s = 0; s < PROPOSAL_STATE_COUNT; s++) {
		if (str_eq(name, str_of(names[s]))) {
			*out_state = (enum proposal_state)s;
			return true;
		}
	}
	return false;
}

bool
proposal_step(enum proposal_state from, enum proposal_event event, enum proposal_state *out_to)
{
	for (size_t i = 0; i < STEPS; i++) {
		if (steps[i].from == from && steps[i].event == event) {
			*out_to = steps[i].to;
			return true;
		}
	}
	return false;
}

bool
proposal_is_final(enum proposal_state s)
{
	for (size_t i = 0; i < STEPS; i++)
		if (steps[i].from == s)
			return false;
	return true;
}
