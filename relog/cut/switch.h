/* SPDX-License-Identifier: BSD-2-Clause */
/* The last context switch of each CPU before a cut begins. */
#ifndef RELOG_CUT_SWITCH_H
#define RELOG_CUT_SWITCH_H

#include <ptl/kernel.h>
#include <ptl/relogger.h>

#include "common/hash_map.h"

/* Zero-initialised: no switches. */
struct relog_switches {
	struct common_hash_map cpus; /* CPU number: index in list */
	struct relog_last_switch {
		uint32_t cpu, pid, tid;
		struct ptl_switch_event data;
	} * list; /* in order of the first switch of each CPU */
	size_t count;
};

/* Notes a context switch. Other events and unreadable switches change nothing. Returns PTL_NO_MEMORY. */
int relog_switches_note(struct relog_switches *switches, const struct ptl_event *event);
/* Injects the last switch of each CPU at the given time. Returns the errors of ptl_relogger_inject_record. */
int relog_switches_report(const struct relog_switches *switches, struct ptl_relogger *relogger, uint64_t time);
void relog_switches_free(struct relog_switches *switches);

#endif
