/* SPDX-License-Identifier: BSD-2-Clause */
/* Paths of calls as JSON that speedscope reads. */
#ifndef DUMP_EXPORT_FLAME_SPEEDSCOPE_H
#define DUMP_EXPORT_FLAME_SPEEDSCOPE_H

#include "dump/call/call_path.h"
#include "dump/export/export.h"

/* A profile for each root: a sample for each path on which something ran. */
int dump_speedscope(struct dump_session *session, const struct dump_paths *paths, bool by_time,
		    struct dump_left_out *left_out);

#endif
