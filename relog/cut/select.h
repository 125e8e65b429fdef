/* SPDX-License-Identifier: BSD-2-Clause */
/* The processes and threads that a cut keeps, and the subject of a kernel event. */
#ifndef RELOG_CUT_SELECT_H
#define RELOG_CUT_SELECT_H

#include <ptl/relogger.h>

#include "common/memory_budget.h"
#include "common/bytes.h"
#include "common/hash_map.h"
#include "format/event/kernel_class.h"
#include "relog/settings/cut.h"

/* The process and thread that a kernel event is about. Strings are in the storage of relog_subject_of. */
struct relog_subject {
	bool understood; /* the event names its process */
	struct format_kernel_event event;
};

void relog_subject_of(const struct ptl_event *event, struct ptl_bytes *storage, struct relog_subject *subject);

/* Kept processes and threads. Zero-initialised keeps all. */
struct relog_selection {
	const struct relog_cut_settings *settings;
	bool by_process; /* pids lists the kept processes; else all processes are kept */
	struct common_hash_map pids;
	struct common_memory_budget memory_budget;
	/* For an input that is being written: */
	struct relog_search *search; /* search that runs a second ahead of the events */
	uint32_t *fresh;             /* processes found since the last relog_late_report */
	size_t fresh_count;
};

/*
 * If the settings name processes or threads, reads all events of all inputs. Processes of an input that is being
 * written are found as the events come; relog_select_end then warns of missing ones. Returns PTL_MISUSE if an input has
 * no such process or thread, with a list of the existing ids; PTL_NO_MEMORY; the errors of ptl_process.
 */
int relog_select(struct relog_selection *selection, const struct relog_cut_settings *settings,
		 struct ptl_relogger *relogger);
/*
 * Warns of missing processes and threads of an input that was being written: the output exists already. Returns
 * PTL_NO_MEMORY.
 */
int relog_select_end(struct relog_selection *selection);
void relog_selection_free(struct relog_selection *selection);

/*
 * Maps the ids of the stream's process and thread to the ids in the output. Returns PTL_UNSUPPORTED if an id is too
 * large.
 */
int relog_map_stream(const struct ptl_relogger_input *input, struct ptl_stream *stream);

bool relog_wants_process(const struct relog_selection *selection, uint32_t pid);
bool relog_wants_thread(const struct relog_selection *selection, uint32_t pid, uint32_t tid);
/* stream has the ids of the output. A stream without a process may hold anything, and is kept. */
bool relog_wants_stream(const struct relog_selection *selection, const struct ptl_stream *stream);

#endif
