/* SPDX-License-Identifier: BSD-2-Clause */
/* The machine record gives the time of day at the start of the trace's clock. */
#include "dump/print/event_time.h"

#include <inttypes.h>
#include <time.h>

#include "common/text/text.h"

#define SECOND 1000000000

bool dump_wall_time(const struct ptl_machine *machine, uint64_t time, int64_t *wall)
{
	const __int128 sum = (__int128)machine->wall_start + time - machine->start_time;

	*wall = (int64_t)sum;
	return sum == *wall;
}

void dump_text_system_time(struct ptl_bytes *text, int64_t wall)
{
	int64_t seconds = wall / SECOND, rest = wall % SECOND;
	char words[64];
	struct tm parts;
	time_t when;

	if (rest < 0) {
		rest += SECOND;
		seconds--;
	}
	when = (time_t)seconds;
	if (gmtime_r(&when, &parts) && strftime(words, sizeof(words), "%Y-%m-%dT%H:%M:%S", &parts))
		common_text_format(text, "%s.%09" PRId64 "Z", words, rest);
}
