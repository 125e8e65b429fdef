/* SPDX-License-Identifier: BSD-2-Clause */
/* Paths of calls as JSON that speedscope reads. */
#ifndef DUMP_EXPORT_FLAME_SPEEDSCOPE_H
#define DUMP_EXPORT_FLAME_SPEEDSCOPE_H

#include "dump/export/path_session.h"

/* A profile for each root: a sample for each path on which something ran. */
int dump_speedscope(struct dump_session *session, const struct dump_path_session *run, bool by_time,
		    struct dump_left_out *left_out);

#endif
