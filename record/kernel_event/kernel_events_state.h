/* SPDX-License-Identifier: BSD-2-Clause */
/* State of the kernel's events of a session: the events and their rings. */
#ifndef RECORD_KERNEL_EVENT_KERNEL_EVENTS_STATE_H
#define RECORD_KERNEL_EVENT_KERNEL_EVENTS_STATE_H

#include <stdio.h>

#include "common/bytes.h"
#include "common/hash_map.h"
#include "record/kernel_code/kernel_code.h"
#include "record/kernel_event/event.h"
#include "record/kernel_event/stack.h"
#include "record/perf/data_ring.h"
#include "record/perf/event.h"
#include "record/session/session.h"
#include "record/value/probe.h"

#define KERNEL_EVENT_RECORDS 64

struct kernel_event_ring {
	int fd; /* -1: the CPU is switched off */
	struct record_data_ring data;
	uint32_t stream;
	const char
		/* Name of the event whose last sample was left to an older event of the same name; NULL: no sample was left. */
		*left_name;
	uint32_t left_tid;
	struct record_perf_losses losses;
	uint64_t looked; /* time of the last loss report or check; trace's clock */
};

struct kernel_events {
	struct record_session *session;
	bool all; /* all processes are recorded, not only the command */
	uint32_t flags;
	struct perf_tracing tracing;
	/* includes events that were turned off: their samples may still be in the rings */
	struct kernel_event *list;
	size_t count, capacity;
	struct common_hash_map ids;      /* sample id: index in `list` */
	uint64_t last_id;                /* id of the last sample; 0: no sample yet (the kernel's ids begin with 1) */
	size_t last_index;               /* index in `list` for last_id */
	struct kernel_event_ring *rings; /* by CPU; NULL: no event was turned on so far */
	size_t cpus;
	int64_t clock_offset; /* record_clock_offset() */
	uint64_t unread, corrupt;
	bool schema_written; /* schema of counter samples */
	bool names_wanted;   /* recording names of kernel functions was tried */
	/* records names of kernel functions; NULL: not recorded, or recorded by another source */
	struct record_kernel_code *kernel;
	struct value_probes *values; /* NULL: no --values */
	struct ptl_bytes storage;
	struct kernel_event_stacks stacks;
	struct format_event_record records[KERNEL_EVENT_RECORDS]; /* records from the ring, not yet in the trace */
	size_t record_count;
	/* number of the current drain; the events and the recorded processes do not change within a drain */
	uint64_t pass;
	struct common_string_list stack_patterns; /* --stack; owned texts */
};

/*
 * Turns on the event or all tracepoints that a pattern of --event matches now. An event of the same name is replaced.
 * Errors as kernel_event_parse.
 */
int kernel_event_enable_named(struct kernel_events *state, const char *text);
/*
 * Turns on "SYSTEM:EVENT", with an optional " if FILTER". named: requested by -e, not by a flag.
 * Errors as kernel_event_parse.
 */
int kernel_event_enable(struct kernel_events *state, const char *text, bool named);
/* Turns on an event that was read. On success the list owns the members. Errors as kernel_event_parse. */
int kernel_event_add(struct kernel_events *state, const struct kernel_event *event);
/* Closes the rings, if any are open. */
void kernel_event_close_rings(struct kernel_events *state);
int kernel_event_enable_flags(struct kernel_events *state, uint32_t flags);
/* Adds a name pattern: matching events have stacks from now on. PTL_NO_MEMORY. */
int kernel_event_add_stack(struct kernel_events *state, const char *pattern);
void kernel_event_forget_stacks(struct kernel_events *state);
/* Returns whether the pattern matches an event that is turned on. */
bool kernel_event_stack_is_used(const struct kernel_events *state, const char *pattern);

/* Operations of the source. */
int kernel_event_change(void *state, const char *text, bool on, FILE *notes);
int kernel_event_change_flags(void *state, const char *text, bool on, FILE *notes);
int kernel_event_change_stack(void *state, const char *pattern, bool on, FILE *notes);

#endif
