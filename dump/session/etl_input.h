/* SPDX-License-Identifier: BSD-2-Clause */
/* .etl files of Windows as they are, for commands whose content comes from there alone. */
#ifndef DUMP_SESSION_ETL_INPUT_H
#define DUMP_SESSION_ETL_INPUT_H

#include "dump/session/command.h"

/*
 * Makes a trace of the file that the session names, in an unnamed file in $TMPDIR, and opens the trace. Says what could not be read, and
 * sets session->damaged. PTL_NOT_OURS: it is no .etl file; PTL_MISUSE: it is the output, too; what the import and ptl_open_fd return.
 */
int dump_etl_open(struct dump_session *session, const struct ptl_open_options *options);

#endif
