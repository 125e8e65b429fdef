/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls as callgrind writes them, for callgrind_annotate and kcachegrind. */
#ifndef DUMP_EXPORT_PROFILE_CALLGRIND_H
#define DUMP_EXPORT_PROFILE_CALLGRIND_H

#include "dump/export/path_session.h"

/* Functions with what they took themselves, with `lines` by line of the source, and in calls of each other one. */
int dump_callgrind(struct dump_session *session, const struct dump_path_session *run, bool lines,
		   struct dump_left_out *left_out);

#endif
