/* SPDX-License-Identifier: BSD-2-Clause */
/* Notices that the wall clock was set while the trace's clock went on steadily. */
#ifndef RECORD_CLOCK_WALL_STEP_H
#define RECORD_CLOCK_WALL_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Both clocks, in nanoseconds; the wall clock was read between the two of the trace's. */
struct record_wall_reading {
	uint64_t before, after;
	int64_t wall;
};

struct record_wall_reading record_wall_read(void);

/* The last reading. Zero-initialised: there is none. */
struct record_wall_watch {
	uint64_t time;
	int64_t wall;
};

/*
 * Whether the wall clock has gone otherwise than the trace's since the last reading, by more than clocks are steered: *step is by how
 * many nanoseconds. A reading that took long says nothing.
 */
bool record_wall_stepped(struct record_wall_watch *watch, const struct record_wall_reading *reading, int64_t *step);

/* What is said of it. Returns text. */
const char *record_wall_step_text(int64_t step, char *text, size_t size);

#endif
