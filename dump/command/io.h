/* SPDX-License-Identifier: BSD-2-Clause */
/* Outputs of ptl-dump io. */
#ifndef DUMP_COMMAND_IO_H
#define DUMP_COMMAND_IO_H

#include "analysis/usage/io_rows.h"
#include "dump/run/command.h"

struct dump_io_run {
	struct dump_run *run;
	const struct analysis_input *input;
	const struct flow_timeline *timeline;
	const struct usage_io *io;
	bool all;            /* all lists */
	enum usage_io_by by; /* else this list */
	unsigned media;      /* bit set of enum usage_medium */
	bool limited;
	uint64_t limit; /* rows of each list, if limited */
};

/* Print the lists. Return 0 or PTL_NO_MEMORY. */
int dump_io_text(const struct dump_io_run *io_run);
int dump_io_json(const struct dump_io_run *io_run);

#endif
