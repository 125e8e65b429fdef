/* SPDX-License-Identifier: BSD-2-Clause */
/* Holds flow out of a trace against the random program that it is of. */
#ifndef TESTS_UNIT_RANDOM_TRUTH_H
#define TESTS_UNIT_RANDOM_TRUTH_H

#include "tests/unit/dump_seen.h"
#include "tests/unit/random_flow.h"

/* The flow is what the program's run really executed, with its events. */
static inline void check_truth(const struct random_flow *flow, const struct seen *seen)
{
	struct random_counts counts = {0};

	assert_int_equal(seen->ip_count, flow->truth_count);
	assert_memory_equal(seen->ips, flow->truth, flow->truth_count * sizeof(*flow->truth));
	assert_int_equal(count_events(seen, FLOW_ENABLED, 0), flow->enables);
	assert_int_equal(count_events(seen, FLOW_ASYNC_BRANCH, 0) + count_events(seen, FLOW_ASYNC_DISABLED, 0),
			 flow->asyncs);
	assert_int_equal(count_events(seen, FLOW_GAP, FLOW_GAP_OVERFLOW), flow->overflows);
	assert_int_equal(count_events(seen, FLOW_GAP, 0), flow->overflows);
	for (size_t i = 0; i < seen->event_count; i++)
		random_count(&counts, seen->events[i].kind);
	assert_memory_equal(&counts, &flow->counts, sizeof(counts));
}

#endif
