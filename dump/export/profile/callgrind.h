/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes calls in the format of callgrind, for callgrind_annotate and kcachegrind. */
#ifndef DUMP_EXPORT_PROFILE_CALLGRIND_H
#define DUMP_EXPORT_PROFILE_CALLGRIND_H

#include "dump/export/path_run.h"

/* Writes functions with self values and the values of their calls. lines: divides self values by source line. */
int dump_callgrind(struct dump_run *run, const struct dump_path_run *path_run, bool lines,
		   struct dump_left_out *left_out);

#endif
