/* SPDX-License-Identifier: BSD-2-Clause */
/* What runs where: of each CPU the last context switch before a cut begins. */
#ifndef RELOG_CUT_SWITCH_H
#define RELOG_CUT_SWITCH_H

#include <ptl/kernel.h>
#include <ptl/relogger.h>

#include "common/hash_map.h"

/* Zero-initialised knows of none. */
struct relog_switches {
	struct common_hash_map cpus; /* by number: index in list */
	struct relog_last_switch {
		uint32_t cpu, pid, tid;
		struct ptl_switch_event data;
	} * list; /* in the order in which the CPUs first appear */
	size_t count;
};

/* Notes a switch; another event, or one that cannot be read, changes nothing. PTL_NO_MEMORY. */
int relog_switches_note(struct relog_switches *switches, const struct ptl_event *event);
/* Injects them as of a time, a switch for each CPU. What ptl_relogger_inject_record gives. */
int relog_switches_report(const struct relog_switches *switches, struct ptl_relogger *relogger, uint64_t time);
void relog_switches_free(struct relog_switches *switches);

#endif
