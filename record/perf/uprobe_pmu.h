/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's PMU of uprobes, as described in sysfs. */
#ifndef RECORD_PERF_UPROBE_PMU_H
#define RECORD_PERF_UPROBE_PMU_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Sets type and config of perf_event_open for a uprobe. returns: for the function's return. Returns false if the kernel
 * has no uprobes.
 */
bool record_uprobe_pmu(bool returns, uint32_t *type, uint64_t *config);

#endif
