/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sampled stacks as calls: events that have a stack are added up by path, and shown to an observer of calls, which sees samples where
 * of decoded flow it sees instructions, and the periods of counters where it sees time.
 */
#ifndef DUMP_SAMPLE_SAMPLE_H
#define DUMP_SAMPLE_SAMPLE_H

#include "dump/call/call_session.h"

struct dump_sample_options {
	bool asked;
	const char *event; /* a pattern for the names of events; NULL: what the trace has */
	const char *where; /* an expression; NULL: all of them */
};

/* Rows of a table of options. */
#define DUMP_SAMPLE_OPTIONS(structure, member)                                                                         \
	{"samples",                                                                                                    \
	 0,                                                                                                            \
	 "[=EVENT]",                                                                                                   \
	 "Stacks of events instead of Intel PT: how many of each, and what counters counted. EVENT: their name "       \
	 "(\"cpu-clock\", \"sched/*\"); may be left out where it is clear.",                                           \
	 COMMON_STRING(structure, member.event),                                                                       \
	 COMMON_GIVEN(structure, member.asked)},                                                                       \
	{                                                                                                              \
		"where", 'w', "EXPRESSION",                                                                            \
			"With --samples: only events of which it is true, as of 'ptl-dump events'.",                   \
			COMMON_STRING(structure, member.where)                                                         \
	}

/* PTL_MISUSE. */
int dump_sample_options_check(const struct dump_sample_options *options);

/* What was added up. Zero-initialise, and free. */
struct dump_samples {
	char *name; /* of the event, or what the user asked for; owned */
	uint64_t count, period;
	bool timed;      /* all have periods of one counter */
	bool in_time;    /* which is a clock: nanoseconds */
	uint64_t cut;    /* shown as their callers': of too many paths */
	uint64_t missed; /* events that have no stack, of those that were asked for */
};

/*
 * Shows the samples that the session's options select to the observer. Says what they are. PTL_MISUSE where no event is called so, or
 * where it is not clear which is meant.
 */
int dump_samples_run(struct dump_call_session *calls, const struct dump_sample_options *options,
		     const struct dump_call_observer *observer, struct dump_samples *samples);
void dump_samples_free(struct dump_samples *samples);
/* Where nothing ran: says that the trace has stacks of events, if it has, and how to see them. */
void dump_samples_hint(const struct dump_call_session *calls);

/* "ns", "cycles": what their periods are of. */
const char *dump_samples_unit(const struct dump_samples *samples);

#endif
