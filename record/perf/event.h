/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens perf events, and reads how many records each has lost.
 *
 * The kernel says that records were lost with the next one that it has room for (PERF_RECORD_LOST). Where none comes any more, as at
 * the end of a program, only the event's own count knows of them.
 */
#ifndef RECORD_PERF_EVENT_H
#define RECORD_PERF_EVENT_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * As perf_event_open(2), without a group; the descriptor is closed by execve. The event counts what it loses where the kernel can
 * do that (PERF_FORMAT_LOST, since Linux 6.0); the caller leaves attr->read_format alone. -1 with errno.
 */
int record_perf_event_open(struct perf_event_attr *attr, pid_t pid, int cpu);

/*
 * How many records the event, and those that inherited it, had no room for in their ring since it was opened; 0 where the kernel does
 * not count them.
 */
uint64_t record_perf_event_lost(int fd);

/* What is known of losses by two ways, of which the one that knows more counts. */
struct record_perf_losses {
	uint64_t said;     /* by PERF_RECORD_LOST */
	uint64_t counted;  /* by events that are closed */
	uint64_t reported; /* in the trace */
};

/* What is to be reported now; open: what the events count that are still open. */
uint64_t record_perf_losses_take(struct record_perf_losses *losses, uint64_t open);

#endif
