/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of a trace that a user selects: time spans and sets of numbers, with the same syntax in all programs. */
#ifndef COMMON_PROGRAM_SELECTION_H
#define COMMON_PROGRAM_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One bound of A..B as written, before the trace's start is known. */
struct common_time_bound {
	bool given;
	bool absolute;        /* "@...": a time of the trace's clock */
	uint64_t nanoseconds; /* relative to the start of the trace, unless absolute or from_end */
	bool from_end;        /* "-...": before the end of the trace */
};

struct common_time_span {
	struct common_time_bound from, to;
	bool last; /* given as a duration before the end of the trace */
};

/*
 * Parses "A..B", "A.." or "..B". PTL_MISUSE, also if `span` already holds a duration before the end. Units: s
 * (default), ms, us, ns. Before a bound, "@" means the trace's clock, and "-" means before the end of the trace.
 */
int common_time_span_parse(const char *text, struct common_time_span *span);
/*
 * Parses a duration such as "1ms": the span of this length at the end of the trace. PTL_MISUSE, also if `span` already
 * has bounds.
 */
int common_time_span_last(const char *text, struct common_time_span *span);
/*
 * Converts the bounds to times of the clock, both inclusive, of a trace from start to end (0: unknown). Missing bounds
 * become 0 and UINT64_MAX. A bound counted from the end that lies before the start becomes 0. PTL_MISUSE if the span
 * ends before it begins, or is counted from an unknown end.
 */
int common_time_span_resolve(const struct common_time_span *span, uint64_t start, uint64_t end, uint64_t *first,
			     uint64_t *last);
/* Whether the span has a bound. */
bool common_time_span_given(const struct common_time_span *span);

/*
 * A set of numbers, from any number of comma-separated lists. The empty set selects everything. A zero-initialised set
 * is empty.
 */
struct common_id_set {
	uint32_t *ids; /* owned, in order of addition */
	size_t count;
};

void common_id_set_free(struct common_id_set *set);
/* Adds a number. PTL_NO_MEMORY. */
int common_id_set_add(struct common_id_set *set, uint32_t id);
/*
 * Adds the numbers of a list such as "4711" or "4711,4712". PTL_MISUSE with a text that says what was expected;
 * PTL_NO_MEMORY.
 */
int common_id_set_parse(struct common_id_set *set, const char *text);
/* Whether `id` is in the set, or the set is empty. */
bool common_id_set_has(const struct common_id_set *set, uint32_t id);

#endif
