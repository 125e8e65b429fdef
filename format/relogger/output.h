/* SPDX-License-Identifier: BSD-2-Clause */
/* The output: its file, its writer, and how buffers are compressed. */
#ifndef FORMAT_RELOGGER_OUTPUT_H
#define FORMAT_RELOGGER_OUTPUT_H

#include <stdbool.h>

#include <ptl/relogger.h>

#include "common/file.h"
#include "format/relogger/window.h"

struct format_output {
	struct common_output_file file;
	int fd; /* descriptor given as the output; -1: none */
	bool given;
	bool recompress;
	bool unfinished; /* write no trailer */
	int level;
	struct format_window window;
};

/* Refuses an output that is an input, even with force. */
int format_output_check_inputs(const struct ptl_relogger *relogger);
/* Opens the writer. A file that grows gets its name at once. */
int format_output_open(struct ptl_relogger *relogger);
/* Closes the writer, and gives the file its name. */
int format_output_commit(struct ptl_relogger *relogger);
/* Drops an output that is not committed. */
void format_output_abandon(struct ptl_relogger *relogger);

#endif
