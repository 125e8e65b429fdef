/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's events of a session: which are on, and the rings that they come by. */
#ifndef RECORD_TRACEPOINT_TRACEPOINTS_STATE_H
#define RECORD_TRACEPOINT_TRACEPOINTS_STATE_H

#include <stdio.h>

#include "common/bytes.h"
#include "common/hash_map.h"
#include "record/kernel/kernel_code.h"
#include "record/perf/data_ring.h"
#include "record/perf/event.h"
#include "record/session/session.h"
#include "record/tracepoint/event.h"
#include "record/tracepoint/stack.h"

#define TRACEPOINT_RECORDS 64

struct tracepoint_ring {
	int fd; /* -1: the CPU is switched off */
	struct record_data_ring data;
	uint32_t stream;
	const char
		*left_name; /* of the event whose sample was the last, and was left to an older one; NULL: it was not */
	uint32_t left_tid;
	struct record_perf_losses losses;
	uint64_t looked; /* when losses were reported, or there were none, the last time; of the trace's clock */
};

struct tracepoints {
	struct record_session *session;
	bool all; /* processes, and not the command alone */
	uint32_t flags;
	struct perf_tracing tracing;
	struct tracepoint_event *list; /* those that are turned off, too, of which samples may yet come */
	size_t count, capacity;
	struct common_hash_map ids;    /* of samples: index in the list */
	uint64_t last_id;              /* of a sample; 0: none, as ids begin with 1 */
	size_t last_index;             /* that belongs to it */
	struct tracepoint_ring *rings; /* by CPU; NULL: nothing was turned on so far */
	size_t cpus;
	int64_t clock_offset; /* record_clock_offset() */
	uint64_t unread, corrupt;
	bool schema_written;               /* that of samples */
	bool names_wanted;                 /* of the kernel's functions, of which it was tried to have them */
	struct record_kernel_code *kernel; /* that names them; NULL: nobody, or another source */
	struct ptl_bytes storage;
	struct tracepoint_stacks stacks;
	struct format_event_record records[TRACEPOINT_RECORDS]; /* that were taken, and are not yet in the trace */
	size_t record_count;
	uint64_t pass;                            /* what is on and what is wanted stays as it is in one */
	struct common_string_list stack_patterns; /* --stack; owned texts */
};

/* What --event names, which may be a pattern: turned on now, or as it is named now. As tracepoint_event_parse. */
int tracepoint_turn_on_named(struct tracepoints *state, const char *text);
/* Turns on "SYSTEM:EVENT", or with " if FILTER" behind it; named: it is no flag that asks for it. As tracepoint_event_parse. */
int tracepoint_turn_on(struct tracepoints *state, const char *text, bool named);
/* Those that were opened for the first event that was turned on, if any were. */
void tracepoint_close_rings(struct tracepoints *state);
int tracepoint_turn_flags_on(struct tracepoints *state, uint32_t flags);
/* A pattern of names whose events have stacks from now on. PTL_NO_MEMORY. */
int tracepoint_add_stack(struct tracepoints *state, const char *pattern);
void tracepoint_forget_stacks(struct tracepoints *state);
/* Whether an event that is on has the pattern's name. */
bool tracepoint_stack_is_used(const struct tracepoints *state, const char *pattern);

/* Operations of the source. */
int tracepoint_turn_event(void *state, const char *text, bool on, FILE *notes);
int tracepoint_turn_flags(void *state, const char *text, bool on, FILE *notes);
int tracepoint_turn_stack(void *state, const char *pattern, bool on, FILE *notes);

#endif
