/* SPDX-License-Identifier: BSD-2-Clause */
/* State of --only-between. */
#ifndef RECORD_INTEL_PT_BETWEEN_H
#define RECORD_INTEL_PT_BETWEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/hash_map.h"
#include "record/intel_pt/intel_pt_state.h"
#include "record/kernel_event/event.h"

/* Reports about a thread: the actions, and the thread's start on a CPU. */
enum { INTEL_PT_SWITCHED_IN = INTEL_PT_ACTIONS };

struct intel_pt_report {
	uint64_t time;
	uint32_t pid, tid, cpu;
	unsigned kind;
};

/* A thread's stretch from a resume to the next pause. */
struct intel_pt_visit {
	bool open;
	uint64_t since;
	uint32_t pid, tid, cpu;
	uint64_t moved; /* time of the first move to another CPU; 0: no move */
	uint32_t moved_to;
};

struct intel_pt_between {
	const char *texts[INTEL_PT_ACTIONS]; /* as given by the user */
	struct kernel_event events[INTEL_PT_ACTIONS];
	struct perf_tracing tracing;
	struct common_hash_map ids;     /* id of a sample: action */
	struct common_hash_map threads; /* thread: index in `visits` */
	struct intel_pt_visit *visits;
	size_t visit_count, visit_capacity;
	struct intel_pt_report *reports; /* not yet in order: the rings of the CPUs are read in turn */
	size_t report_count, report_capacity;
	uint64_t counts[INTEL_PT_ACTIONS]; /* reports so far */
	struct ptl_guid provider;
	bool described; /* the schemas are in the trace */
};

#endif
