/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the output of a command goes: standard output, or a file that appears whole or not at all. */
#ifndef DUMP_SESSION_OUTPUT_H
#define DUMP_SESSION_OUTPUT_H

#include "common/file.h"
#include "dump/session/command.h"

#define DUMP_OUTPUT_BUFFER (256 << 10)

struct dump_output {
	int fd;
	int error;                      /* errno of the first write that failed; 0 */
	bool to_file;                   /* there is a `file` */
	bool discards;                  /* nobody wants it */
	struct common_output_file file; /* of -o */
	FILE *stream;
};

/*
 * Opens what the options name, or standard output, and sets session->out and session->output. The trace of the session is
 * open: it is never the output, not even with --force. Close in any case. PTL_SYSTEM, PTL_MISUSE, PTL_NO_MEMORY.
 */
int dump_output_open(struct dump_session *session, struct dump_output *output);
/* Writes what is buffered; what dump_output_check returns. */
int dump_output_flush(struct dump_session *session);
/* Closes it; a file gets its name where keep is set, else it goes. PTL_SYSTEM where it does not get it. */
int dump_output_close(struct dump_session *session, bool keep);

#endif
