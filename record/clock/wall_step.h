/* SPDX-License-Identifier: BSD-2-Clause */
/* Notices steps of the wall clock against the steady clock of the trace. */
#ifndef RECORD_CLOCK_WALL_STEP_H
#define RECORD_CLOCK_WALL_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Both clocks, in nanoseconds. The wall clock was read between two readings of the trace's clock. */
struct record_wall_reading {
	uint64_t before, after;
	int64_t wall;
};

struct record_wall_reading record_wall_read(void);

/* Last reading. Zero-initialised: no reading. */
struct record_wall_watch {
	uint64_t time;
	int64_t wall;
};

/*
 * Checks whether the wall clock has stepped since the last reading, by more than NTP would steer. *step: set to the
 * nanoseconds of the step. Slow readings are ignored.
 */
bool record_wall_stepped(struct record_wall_watch *watch, const struct record_wall_reading *reading, int64_t *step);

/* Returns text with a message about the step. */
const char *record_wall_step_text(int64_t step, char *text, size_t size);

#endif
