/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes paths of calls as JSON for speedscope. */
#ifndef DUMP_EXPORT_FLAME_SPEEDSCOPE_H
#define DUMP_EXPORT_FLAME_SPEEDSCOPE_H

#include "dump/export/path_run.h"

/* Writes a profile for each root, with a sample for each path with a self value. */
int dump_speedscope(struct dump_run *run, const struct dump_path_run *path_run, bool by_time,
		    struct dump_left_out *left_out);

#endif
