/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds processes and threads of events if no event reports their begin or end. */
#ifndef DUMP_RUN_EVENT_OWNER_H
#define DUMP_RUN_EVENT_OWNER_H

#include <ptl/reader.h>

#include "common/program/selection.h"

/*
 * Sets *found if an event belongs to the process. Reads events up to the first match. Returns 0 or an error of
 * ptl_process.
 */
int dump_event_owner_find_process(struct ptl_trace *trace, uint32_t pid, bool *found);
/*
 * Sets *found if an event belongs to the thread, in one of `pids`. For an empty set, any process matches, and so does a
 * context switch that names the thread.
 */
int dump_event_owner_find_thread(struct ptl_trace *trace, uint32_t tid, const struct common_id_set *pids, bool *found);

#endif
