/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens perf events, and reads their counts of lost records.
 *
 * The kernel reports lost records together with the next record that finds room (PERF_RECORD_LOST). Without a later
 * record, as at the end of a program, only the count of the event tells the loss.
 */
#ifndef RECORD_PERF_EVENT_H
#define RECORD_PERF_EVENT_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * As perf_event_open(2), without a group; the descriptor is close-on-exec. If the kernel can (PERF_FORMAT_LOST, since
 * Linux 6.0), the event counts its losses; the caller leaves attr->read_format alone. Returns -1 with errno after a
 * failure.
 */
int record_perf_event_open(struct perf_event_attr *attr, pid_t pid, int cpu);
/* As record_perf_event_open, in the group of the event `leader`. */
int record_perf_event_open_member(struct perf_event_attr *attr, pid_t pid, int cpu, int leader);

/*
 * Actions on packets, since Linux 6.13. START_PAUSED is for the event of packets; PAUSE and RESUME are for members of
 * its group.
 */
#define RECORD_PERF_START_PAUSED 1u
#define RECORD_PERF_PAUSE 2u
#define RECORD_PERF_RESUME 4u
void record_perf_event_set_action(struct perf_event_attr *attr, uint32_t action);

/*
 * Returns the number of lost records of the event and its heirs since the opening; 0 if the kernel does not count
 * losses.
 */
uint64_t record_perf_event_lost(int fd);

/* Losses from two sources. The larger count is right. */
struct record_perf_losses {
	uint64_t recorded; /* count by PERF_RECORD_LOST */
	uint64_t counted;  /* count by closed events */
	uint64_t reported; /* number already in the trace */
};

/* Returns the number of losses to report now. open: count by open events. */
uint64_t record_perf_losses_take(struct record_perf_losses *losses, uint64_t open);

#endif
