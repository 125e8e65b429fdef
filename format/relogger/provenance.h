/* SPDX-License-Identifier: BSD-2-Clause */
/* History of the output: the step of this run, and the files that it read. */
#ifndef FORMAT_RELOGGER_PROVENANCE_H
#define FORMAT_RELOGGER_PROVENANCE_H

#include <stddef.h>

#include <ptl/bytes.h>
#include <ptl/relogger.h>

/* The step of this run; texts are owned. */
struct format_run_step {
	char *tool, *version, *command, *rules;
	struct ptl_bytes unmatched; /* rules that matched nothing, one per line */
};

/* Original files of an input. */
struct format_origins {
	char *alias;                        /* name in provenance; NULL: the input's name */
	struct ptl_provenance_input itself; /* provenance of an input without origins */
	struct ptl_provenance_input *all;   /* names are owned */
	size_t count;
};

/* Writes the history step of this run. */
int format_relogger_write_step(struct ptl_relogger *relogger);
void format_run_step_free(struct format_run_step *step);
void format_origins_free(struct format_origins *origins);

#endif
