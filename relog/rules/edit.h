/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes of the current event that a rule's actions ask for. */
#ifndef RELOG_RULES_EDIT_H
#define RELOG_RULES_EDIT_H

#include "relog/rules/run_state.h"

/* What of a rule's actions waits for the end of the rule: the values of fields that are added. */
struct rules_shape {
	struct query_value *added;
	size_t added_count;
};

/* Sets at once, keeps what is to be added in shape. PTL_CORRUPT, PTL_NO_MEMORY. */
int rules_edit_action(struct rules_run *run, const struct rules_action *action, struct rules_shape *shape);
/* PTL_CORRUPT: the event has no such field of the rule that is applied. */
int rules_edit_lacks(const struct rules_run *run, unsigned field);
/* Puts what a loop has set into the payload. PTL_CORRUPT, PTL_NO_MEMORY. */
int rules_edit_flush(struct rules_run *run, const struct rules_action *action);
/* Adds and deletes fields; the event has its new identity already. As above, or what the output gave. */
int rules_edit_shape(struct rules_run *run, struct rules_bound *bound, const struct rules_shape *shape);

#endif
