/* SPDX-License-Identifier: BSD-2-Clause */
/* The clock of the trace, which the recorder reads as well as who reports to it. */
#ifndef RECORD_CLOCK_CLOCK_H
#define RECORD_CLOCK_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* The trace's time now, in nanoseconds: CLOCK_MONOTONIC, unless another clock was chosen. */
uint64_t record_now(void);

/* Nanoseconds from one time to a later one; 0 if it is no later: a turn of a loop has the time of its beginning, and events have their own. */
static inline uint64_t record_elapsed(uint64_t since, uint64_t now)
{
	return now > since ? now - since : 0;
}
/* The wall clock since 1970, in nanoseconds. */
int64_t record_wall_now(void);

/* time = zero + (tsc * multiplier >> shift): what perf_event_mmap_page says where it has cap_user_time_zero. */
struct record_tsc {
	uint64_t zero;
	uint32_t multiplier;
	uint8_t shift;
};

uint64_t record_tsc_time(const struct record_tsc *tsc, uint64_t count);

/*
 * From now on the trace has PTL_CLOCK_PERF: packets that count the TSC, the kernel's records and the recorder itself
 * then have the very same time. Called before there are other threads, as the functions below.
 */
void record_clock_use_tsc(const struct record_tsc *tsc);
bool record_clock_is_tsc(void);
/* From now on the trace has PTL_CLOCK_SYSTEM: the wall clock as of now, which then goes on as CLOCK_MONOTONIC does. */
void record_clock_use_wall(void);
void record_clock_use_monotonic(void);

/* A CLOCK_MONOTONIC that somebody else has read, as time of the trace. */
uint64_t record_clock_of_monotonic(uint64_t time);

/*
 * What the trace's clock is ahead of the kernel's records, in nanoseconds: these have the host's time for all readers, and in a
 * time namespace CLOCK_MONOTONIC is another.
 */
int64_t record_clock_offset(void);

#endif
