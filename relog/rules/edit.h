/* SPDX-License-Identifier: BSD-2-Clause */
/* Applies a rule's actions to the current event. */
#ifndef RELOG_RULES_EDIT_H
#define RELOG_RULES_EDIT_H

#include "relog/rules/run_state.h"

/* Values of added fields, which wait for the end of the rule. */
struct rules_shape {
	struct query_value *added;
	size_t added_count;
};

/* Sets values at once; keeps values of added fields in shape. Returns PTL_CORRUPT, PTL_NO_MEMORY. */
int rules_edit_action(struct rules_run *run, const struct rules_action *action, struct rules_shape *shape);
/* Returns PTL_CORRUPT: the event lacks this field of the current rule. */
int rules_edit_lacks(const struct rules_run *run, unsigned field);
/* Encodes the values that a loop has set into the payload. Returns PTL_CORRUPT, PTL_NO_MEMORY. */
int rules_edit_flush(struct rules_run *run, const struct rules_action *action);
/*
 * Adds and deletes fields. The event must already have its new identity. Returns PTL_CORRUPT, PTL_NO_MEMORY, or an
 * error of the output.
 */
int rules_edit_shape(struct rules_run *run, struct rules_bound *bound, const struct rules_shape *shape);

#endif
