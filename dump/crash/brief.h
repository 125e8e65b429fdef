/* SPDX-License-Identifier: BSD-2-Clause */
/* A sentence for each failed process, for other commands. */
#ifndef DUMP_CRASH_BRIEF_H
#define DUMP_CRASH_BRIEF_H

#include "dump/crash/failure.h"

#define DUMP_CRASH_BRIEF_LINES 5

/* Zero-initialised: no failure. */
struct dump_crash_brief {
	char *lines[DUMP_CRASH_BRIEF_LINES]; /* owned; safe for a terminal; NULL behind the last line */
	size_t failures;                     /* failed processes, also those without a line */
	bool located;                        /* the lines say where the processes failed */
};

/*
 * Describes the failed processes of the run's trace. decode: finds the places by decoding flow; else the lines
 * repeat the events. Returns 0 or PTL_NO_MEMORY.
 */
int dump_crash_brief_make(struct dump_crash_brief *brief, struct dump_run *run, const struct flow_timeline *timeline,
			  bool decode);
/*
 * As dump_crash_brief_make, for a fast command: opens the file of the run a second time, so that the run's trace
 * notices no damage. Decodes only a small trace. Returns no failure if the file has many events, or cannot be read.
 */
int dump_crash_brief_quick(struct dump_crash_brief *brief, const struct dump_run *run);
void dump_crash_brief_free(struct dump_crash_brief *brief);

#endif
