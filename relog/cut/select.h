/* SPDX-License-Identifier: BSD-2-Clause */
/* Which processes and threads a cut keeps, and what a kernel event is about. */
#ifndef RELOG_CUT_SELECT_H
#define RELOG_CUT_SELECT_H

#include <ptl/relogger.h>

#include "common/memory_budget.h"
#include "common/bytes.h"
#include "common/hash_map.h"
#include "format/event/kernel_class.h"
#include "relog/settings/cut.h"

/* What an event of the kernel's classes is about. Strings live in the storage. */
struct relog_subject {
	bool understood; /* the event says which process it is about */
	struct format_kernel_event event;
};

void relog_subject_of(const struct ptl_event *event, struct ptl_bytes *storage, struct relog_subject *subject);

/* Which processes and threads are kept. Zero-initialised keeps all. */
struct relog_selection {
	const struct relog_cut_settings *settings;
	bool by_process; /* not all processes are kept: pids says which */
	struct common_hash_map pids;
	struct common_memory_budget memory_budget;
	/* Of an input that is being written: */
	struct relog_search *search; /* goes on, a second ahead */
	uint32_t *fresh;             /* processes that were found since somebody asked */
	size_t fresh_count;
};

/*
 * Reads through all events of all inputs where the settings name processes or threads. PTL_MISUSE where one of
 * them is nowhere, with what there is; PTL_NO_MEMORY, and what ptl_process gives. Of an input that is being written, they
 * are found as they come, and relog_select_end says which were not.
 */
int relog_select(struct relog_selection *selection, const struct relog_cut_settings *settings,
		 struct ptl_relogger *relogger);
/* The output is there, so these are warned of. PTL_NO_MEMORY. */
int relog_select_end(struct relog_selection *selection);
void relog_selection_free(struct relog_selection *selection);

/* The stream with the ids that the output gives to processes and threads. PTL_UNSUPPORTED: they are too large. */
int relog_map_stream(const struct ptl_relogger_input *input, struct ptl_stream *stream);

bool relog_wants_process(const struct relog_selection *selection, uint32_t pid);
bool relog_wants_thread(const struct relog_selection *selection, uint32_t pid, uint32_t tid);
/* stream has the output's ids. Streams that belong to no process may hold anything, and are wanted. */
bool relog_wants_stream(const struct relog_selection *selection, const struct ptl_stream *stream);

#endif
