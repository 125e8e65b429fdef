/* SPDX-License-Identifier: BSD-2-Clause */
/* Paths of calls as a profile that pprof reads. */
#ifndef DUMP_EXPORT_PROFILE_PPROF_H
#define DUMP_EXPORT_PROFILE_PPROF_H

#include "dump/export/path_session.h"

/*
 * A sample for each path, with calls, instructions and time, and its process and thread as labels; of samples, with their number and
 * periods. With by_line the instructions of a
 * path are several samples, of the lines of its last function.
 */
int dump_pprof(struct dump_session *session, const struct dump_path_session *run, bool by_time, bool by_line,
	       struct dump_left_out *left_out);

#endif
