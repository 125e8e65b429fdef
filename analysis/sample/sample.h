/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sampled stacks as calls. Sums up events with stacks by path, and reports the sums to an observer of calls. Samples
 * take the place of instructions, and periods of counters the place of times.
 */
#ifndef ANALYSIS_SAMPLE_SAMPLE_H
#define ANALYSIS_SAMPLE_SAMPLE_H

#include "analysis/call/call_input.h"

struct analysis_sample_options {
	bool enabled;
	const char *event; /* glob pattern for event names; NULL: the only suitable event of the trace */
	const char *where; /* an expression; NULL: all events */
};

/* Rows for a table of options. */
#define ANALYSIS_SAMPLE_OPTIONS(structure, member)                                                                     \
	{"samples",                                                                                                    \
	 0,                                                                                                            \
	 "[=EVENT]",                                                                                                   \
	 "Stacks of events instead of Intel PT: how many of each, and what counters counted. EVENT: their name "       \
	 "(\"cpu-clock\", \"sched/*\"); may be left out where it is clear.",                                           \
	 COMMON_STRING(structure, member.event),                                                                       \
	 COMMON_GIVEN(structure, member.enabled)},                                                                     \
	{                                                                                                              \
		"where", 'w', "EXPRESSION",                                                                            \
			"With --samples: only events of which it is true, as of 'ptl-dump events'.",                   \
			COMMON_STRING(structure, member.where)                                                         \
	}

/* Returns PTL_MISUSE if the options exclude each other. */
int analysis_sample_options_check(const struct analysis_sample_options *options);

/* Sums over all samples. Zero-initialise before use; free with analysis_samples_free. */
struct analysis_samples {
	char *name; /* name of the event, or the user's pattern; owned */
	uint64_t count, period;
	bool timed;      /* all samples have periods of the same counter */
	bool in_time;    /* the counter is a clock: periods are nanoseconds */
	uint64_t cut;    /* samples attributed to a caller, since there were too many paths */
	uint64_t missed; /* selected events without a stack */
};

/*
 * Reports the selected samples to the observer, and prints a note with their event and sums. Returns PTL_MISUSE if no
 * event has the name, or if several events are possible.
 */
int analysis_samples_run(struct analysis_calls *calls, const struct analysis_sample_options *options,
			 const struct analysis_call_observer *observer, struct analysis_samples *samples);
void analysis_samples_free(struct analysis_samples *samples);
/* Call if no code ran. If the trace has no Intel PT but events with stacks, prints a hint how to show the stacks. */
void analysis_samples_hint(const struct analysis_calls *calls);

/* Returns the unit of the periods: "ns", "cycles". */
const char *analysis_samples_unit(const struct analysis_samples *samples);

#endif
