/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's PMU of uprobes, as sysfs describes it. */
#ifndef RECORD_PERF_UPROBE_PMU_H
#define RECORD_PERF_UPROBE_PMU_H

#include <stdbool.h>
#include <stdint.h>

/* Of an event of perf_event_open for a uprobe, or for the function's return. False: this kernel has no uprobes. */
bool record_uprobe_pmu(bool returns, uint32_t *type, uint64_t *config);

#endif
