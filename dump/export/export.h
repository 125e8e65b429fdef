/* SPDX-License-Identifier: BSD-2-Clause */
/* What all exports share: what they take, where they may write, and how they say what they left out. */
#ifndef DUMP_EXPORT_EXPORT_H
#define DUMP_EXPORT_EXPORT_H

#include "dump/session/command.h"

/* The shared options of an export of what ran. */
#define DUMP_EXPORT_TAKES                                                                                              \
	(DUMP_TAKES_OUTPUT | DUMP_TAKES_PROCESS | DUMP_TAKES_CPU | DUMP_TAKES_TIME | DUMP_TAKES_DECODE |               \
	 DUMP_TAKES_NAMES)

/* To be asked before work is done: PTL_MISUSE where bytes that are no text would go to a terminal. */
int dump_export_binary(const struct dump_session *session);

/*
 * What of the trace the output does not have, though it was not excluded by the options that choose a part of the trace:
 * what a limit cut off, what lies in gaps, what the format has no place for. Zero-initialised is nothing; free it.
 */
struct dump_left_out {
	struct ptl_bytes text; /* "3 gaps (1.2 ms); 120,000 calls below --min-time" */
};

/* Adds "COUNT ONE" or "COUNT MANY"; nothing where count is 0. The words have to be safe for a terminal. */
void dump_left_out_add(struct dump_left_out *left_out, uint64_t count, const char *one, const char *many);
/* Adds other words. */
void dump_left_out_say(struct dump_left_out *left_out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same without punctuation before it, for a place in the format itself; NULL where nothing is left out. */
const char *dump_left_out_text(struct dump_left_out *left_out);
/* A warning of it, which --quiet does not silence, since it is about what is in the output. */
void dump_left_out_report(struct dump_left_out *left_out);
void dump_left_out_free(struct dump_left_out *left_out);

/* The largest number of formats whose numbers are signed stands for all beyond it, which would be negative there. */
static inline uint64_t dump_export_signed(uint64_t number)
{
	return number < INT64_MAX ? number : INT64_MAX;
}

#endif
