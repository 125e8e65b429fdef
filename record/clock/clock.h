/* SPDX-License-Identifier: BSD-2-Clause */
/* The clock of the trace, for the recorder and for reporting processes. */
#ifndef RECORD_CLOCK_CLOCK_H
#define RECORD_CLOCK_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Returns the trace's time now, in nanoseconds: CLOCK_MONOTONIC, unless another clock was chosen. */
uint64_t record_now(void);

/*
 * Returns the nanoseconds from one time to a later time; 0 if `now` is not later. A loop uses the time of its
 * beginning, while events have later times.
 */
static inline uint64_t record_elapsed(uint64_t since, uint64_t now)
{
	return now > since ? now - since : 0;
}
/* Returns the wall clock, in nanoseconds since 1970. */
int64_t record_wall_now(void);

/* time = zero + (tsc * multiplier >> shift): conversion as in perf_event_mmap_page with cap_user_time_zero. */
struct record_tsc {
	uint64_t zero;
	uint32_t multiplier;
	uint8_t shift;
};

uint64_t record_tsc_time(const struct record_tsc *tsc, uint64_t count);

/*
 * Changes the trace's clock to PTL_CLOCK_PERF: packets with TSC, kernel records and the recorder then use identical
 * times. Called before other threads exist, as the functions below.
 */
void record_clock_use_tsc(const struct record_tsc *tsc);
bool record_clock_is_tsc(void);
/* Changes the trace's clock to PTL_CLOCK_SYSTEM: the current wall clock, advanced by CLOCK_MONOTONIC. */
void record_clock_use_wall(void);
void record_clock_use_monotonic(void);

/* Converts a CLOCK_MONOTONIC that another process read to the trace's time. */
uint64_t record_clock_of_monotonic(uint64_t time);

/*
 * Returns the nanoseconds by which the trace's clock is ahead of kernel records. Kernel records have the host's time
 * for all readers; a time namespace changes CLOCK_MONOTONIC.
 */
int64_t record_clock_offset(void);

#endif
