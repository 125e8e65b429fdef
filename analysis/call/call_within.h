/* SPDX-License-Identifier: BSD-2-Clause */
/* Limits an observer of calls to selected calls of a function, and their callees. */
#ifndef ANALYSIS_CALL_CALL_WITHIN_H
#define ANALYSIS_CALL_CALL_WITHIN_H

#include "analysis/call/call_set.h"

/*
 * Walks all calls, and reports only the calls of the set and their callees to the observer, as if the calls of the set
 * were the outermost calls of their stacks. The set is of the same flow; its functions may be of another table. Returns
 * as analysis_calls_observe.
 */
int analysis_calls_within(const struct analysis_calls *calls, const struct analysis_call_set *set,
			  const struct analysis_call_observer *observer);

#endif
