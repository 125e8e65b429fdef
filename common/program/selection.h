/* SPDX-License-Identifier: BSD-2-Clause */
/* Which part of a trace a user means: spans of time and sets of numbers, as all programs take them. */
#ifndef COMMON_PROGRAM_SELECTION_H
#define COMMON_PROGRAM_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One end of A..B as written, before the trace's start is known. */
struct common_time_bound {
	bool given;
	bool absolute;        /* "@..." : a time of the trace's clock */
	uint64_t nanoseconds; /* else since the start of the trace */
	bool from_end;        /* "-...": before the end of the trace instead */
};

struct common_time_span {
	struct common_time_bound from, to;
	bool last; /* it was given as a duration before the end */
};

/*
 * Reads "A..B", "A..", "..B"; PTL_MISUSE, also where span was given as a duration before. Units: s (default), ms, us, ns; "@" before a bound: trace clock; "-": before
 * the end of the trace.
 */
int common_time_span_parse(const char *text, struct common_time_span *span);
/* Reads a duration, "1ms": the span from that long before the end of the trace. PTL_MISUSE, also where span has bounds. */
int common_time_span_last(const char *text, struct common_time_span *span);
/*
 * Turns the bounds into times of the clock, both inclusive, of a trace from start to end (0: not known); what is not
 * given is 0 and UINT64_MAX. What lies before the start when counted from the end is before all times. PTL_MISUSE where
 * the span ends before it begins, or is counted from an end that is not known.
 */
int common_time_span_resolve(const struct common_time_span *span, uint64_t start, uint64_t end, uint64_t *first,
			     uint64_t *last);
/* Whether it has a bound. */
bool common_time_span_given(const struct common_time_span *span);

/* A set of numbers, given any number of times, each a comma list. Empty: all. Zero-initialised is empty. */
struct common_id_set {
	uint32_t *ids; /* owned, in the order given */
	size_t count;
};

void common_id_set_free(struct common_id_set *set);
/* PTL_NO_MEMORY. */
int common_id_set_add(struct common_id_set *set, uint32_t id);
/* Adds "4711" or "4711,4712"; PTL_MISUSE says what was expected, PTL_NO_MEMORY. */
int common_id_set_parse(struct common_id_set *set, const char *text);
/* True for a member, and for everything when the set is empty. */
bool common_id_set_has(const struct common_id_set *set, uint32_t id);

#endif
