/* SPDX-License-Identifier: BSD-2-Clause */
/* Windows of time, chosen by events and calls of a trace. */
#ifndef ANALYSIS_WINDOW_WINDOW_H
#define ANALYSIS_WINDOW_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/reader.h>

/* Times of the trace's clock, both inclusive. */
struct analysis_window {
	uint64_t from, to;
	uint64_t value; /* nanoseconds from the first to the last time that chose the window */
	bool open;      /* no event ends the window, which ends with the trace */
};

/* What the windows are about: exactly one of around, between and calls. Durations are nanoseconds. */
struct analysis_window_options {
	const char *around;          /* --around: expression about an event; NULL */
	const char *option;          /* name of --around in messages; NULL: --around */
	const char *between, *until; /* --between, --and: expressions about the first and the last event; NULL */
	const char *calls;           /* --calls: "FUNCTION" or "FUNCTION: EXPRESSION"; NULL */
	uint64_t slowest;            /* with calls: only the slowest calls; 0: all calls */
	uint64_t before, after;      /* widen each window */
};

/* A zero-initialised list is empty. */
struct analysis_windows {
	struct analysis_window *list; /* owned; by begin, with `slowest` by duration, longest first */
	size_t count, capacity;
	uint64_t untimed; /* calls without a known time */
};

/*
 * Checks the texts of the options without a trace. Returns PTL_MISUSE with a text that shows the place of the error, or
 * PTL_NO_MEMORY.
 */
int analysis_windows_check(const struct analysis_window_options *options);
/*
 * Adds the windows of the trace. path: name of the trace for messages. At most `most` windows: else PTL_MISUSE with the
 * count. Prints notes about names that the trace lacks, and about calls outside of the flow. Returns PTL_MISUSE for a
 * trace without a clock and for unknown functions; PTL_NO_MEMORY; the errors of reading and decoding. Call
 * analysis_windows_free in any case.
 */
int analysis_windows_find(struct analysis_windows *windows, const struct analysis_window_options *options,
			  struct ptl_trace *trace, const char *path, size_t most);
/* Adds the windows of another list. Order and `slowest` as for analysis_windows_find. Returns PTL_NO_MEMORY. */
int analysis_windows_merge(struct analysis_windows *windows, const struct analysis_windows *others, uint64_t slowest);
/* Joins windows that overlap or touch. Sorts by begin. */
void analysis_windows_join(struct analysis_windows *windows);
void analysis_windows_free(struct analysis_windows *windows);

#endif
