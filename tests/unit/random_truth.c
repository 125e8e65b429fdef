/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares flow from a trace with the random program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/random_truth.h"

void check_truth(const struct random_flow *flow, const struct seen *seen)
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
