/* SPDX-License-Identifier: BSD-2-Clause */
/* The output of a command: standard output, or a file that appears whole or not at all. */
#ifndef DUMP_RUN_OUTPUT_H
#define DUMP_RUN_OUTPUT_H

#include "common/file.h"
#include "dump/run/command.h"

#define DUMP_OUTPUT_BUFFER (256 << 10)

struct dump_output {
	int fd;
	int error;                      /* errno of the first failed write; 0: none failed */
	bool to_file;                   /* `file` is in use */
	bool discards;                  /* writes are discarded */
	struct dump_line_cut *cut;      /* cuts lines; NULL: lines have any length; owned */
	struct common_output_file file; /* the -o file */
	FILE *stream;
};

/*
 * Opens the output that the options name, or standard output. Sets run->out and run->output. The trace of the
 * run must be open: the output is never one of the input files, not even with --force. Call dump_output_close in
 * any case.
 * Errors: PTL_SYSTEM, PTL_MISUSE, PTL_NO_MEMORY.
 */
int dump_output_open(struct dump_run *run, struct dump_output *output);
/* Writes all buffered output. Returns the status of dump_output_check. */
int dump_output_flush(struct dump_run *run);
/*
 * Closes the output. keep: gives a new file its name; else the file is removed. Returns PTL_SYSTEM if the file cannot
 * get its name.
 */
int dump_output_close(struct dump_run *run, bool keep);

#endif
