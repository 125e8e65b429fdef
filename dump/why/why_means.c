/* SPDX-License-Identifier: BSD-2-Clause */
/* Means of the calls of a side, and how much larger the mean of the slow calls is. */
#include "dump/why/why.h"

double dump_why_mean(const struct dump_why *why, uint64_t sum, enum dump_why_side side)
{
	return (double)sum / (double)why->counts[side];
}

double dump_why_excess(const struct dump_why *why, double slow, double other)
{
	return slow / (double)why->counts[DUMP_WHY_SLOW] - other / (double)why->counts[DUMP_WHY_OTHER];
}

double dump_why_node_excess(const struct dump_why *why, const struct dump_why_node_sum sums[DUMP_WHY_SIDES])
{
	return why->by_instructions
		       ? dump_why_excess(why, sums[DUMP_WHY_SLOW].instructions, sums[DUMP_WHY_OTHER].instructions)
		       : dump_why_excess(why, sums[DUMP_WHY_SLOW].time, sums[DUMP_WHY_OTHER].time);
}
