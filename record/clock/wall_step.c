/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares two clocks. */
#include "record/clock/wall_step.h"

#include <stdio.h>

#include "record/clock/clock.h"

#define READING_MAX 1000000u /* maximum nanoseconds of a reading */
#define STEP_MIN 10000000    /* nanoseconds; smaller steps are ignored */
#define STEERED_SHARE 1000   /* NTP changes the rate of a clock by at most half of this share */
#define SECOND 1000000000.0

struct record_wall_reading record_wall_read(void)
{
	struct record_wall_reading reading = {.before = record_now()};

	reading.wall = record_wall_now();
	reading.after = record_now();
	return reading;
}

bool record_wall_stepped(struct record_wall_watch *watch, const struct record_wall_reading *reading, int64_t *step)
{
	const uint64_t time = reading->before + (reading->after - reading->before) / 2;
	const struct record_wall_watch last = *watch;
	uint64_t size;

	if (reading->after - reading->before > READING_MAX)
		return false;
	*watch = (struct record_wall_watch){time, reading->wall};
	*step = (int64_t)((uint64_t)reading->wall - (uint64_t)last.wall - (time - last.time));
	size = *step < 0 ? 0 - (uint64_t)*step : (uint64_t)*step;
	return last.time && size > STEP_MIN + (time - last.time) / STEERED_SHARE;
}

const char *record_wall_step_text(int64_t step, char *text, size_t size)
{
	snprintf(text, size,
		 "the wall clock went %s by %.3f s: it was set%s; the times of the trace go on steadily, and times of "
		 "day that are "
		 "shown for them are as before",
		 step < 0 ? "back" : "forward", (step < 0 ? -(double)step : (double)step) / SECOND,
		 step < 0 ? "" : ", or the machine slept");
	return text;
}
