/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes and threads that events belong to, though no event reports when they begin or end. */
#ifndef DUMP_SESSION_EVENT_OWNER_H
#define DUMP_SESSION_EVENT_OWNER_H

#include <ptl/reader.h>

#include "common/program/selection.h"

/* Sets *found if an event belongs to the process. Reads events until one does. Returns what ptl_process fails with. */
int dump_event_owner_find_process(struct ptl_trace *trace, uint32_t pid, bool *found);
/* The same for a thread of one of these processes (an empty set: of any), or one that a context switch names. */
int dump_event_owner_find_thread(struct ptl_trace *trace, uint32_t tid, const struct common_id_set *pids, bool *found);

#endif
