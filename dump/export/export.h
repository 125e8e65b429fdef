/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared parts of all exports: options, checks of the output, and the report of omitted data. */
#ifndef DUMP_EXPORT_EXPORT_H
#define DUMP_EXPORT_EXPORT_H

#include "dump/run/command.h"

/* The shared options of an export of flow. */
#define DUMP_EXPORT_TAKES                                                                                              \
	(DUMP_TAKES_OUTPUT | DUMP_TAKES_PROCESS | DUMP_TAKES_CPU | DUMP_TAKES_TIME | DUMP_TAKES_DECODE |               \
	 DUMP_TAKES_NAMES)

/* For output that other programs read. Call before any work. Returns PTL_MISUSE if the output goes to a terminal. */
int dump_export_refuse_terminal(const struct dump_run *run);

/*
 * Description of selected data that the output lacks: data beyond a limit, in gaps, or without a place in the format.
 * Zero-initialised: empty. Free with dump_left_out_free.
 */
struct dump_left_out {
	struct ptl_bytes text; /* "3 gaps (1.2 ms); 120,000 calls below --min-time" */
};

/* Adds "COUNT ONE" or "COUNT MANY"; nothing for count 0. The words must be safe for a terminal. */
void dump_left_out_add(struct dump_left_out *left_out, uint64_t count, const char *one, const char *many);
/* Adds other words. */
void dump_left_out_say(struct dump_left_out *left_out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns the description without leading punctuation, for the format itself; NULL: nothing is omitted. */
const char *dump_left_out_text(struct dump_left_out *left_out);
/* Prints the description as a warning. --quiet does not silence the warning, since it describes the output. */
void dump_left_out_report(struct dump_left_out *left_out);
void dump_left_out_free(struct dump_left_out *left_out);

/* Limits a number for formats with signed numbers, where a larger number would be negative. */
static inline uint64_t dump_export_signed(uint64_t number)
{
	return number < INT64_MAX ? number : INT64_MAX;
}

#endif
