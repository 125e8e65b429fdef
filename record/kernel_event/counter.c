/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters under the names of perf. */
#include <string.h>

#include "common/error.h"
#include "common/program/options.h"
#include "record/kernel_event/kinds.h"

#define EACH 0         /* one sample per event */
#define FREQUENCY 1000 /* samples per second; ETW's profile interval is also 1 ms */

static const struct counter {
	const char *name;
	uint32_t type;
	uint64_t config;
	uint64_t frequency;
} counters[] = {
	{"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, FREQUENCY},
	{"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, FREQUENCY},
	{"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, EACH},
	{"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, EACH},
	{"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, EACH},
	{"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, EACH},
	{"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, EACH},
	{"alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS, EACH},
	{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, FREQUENCY},
	{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, FREQUENCY},
	{"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, FREQUENCY},
	{"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, FREQUENCY},
	{"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, FREQUENCY},
	{"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, FREQUENCY},
	{"bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES, FREQUENCY},
	{"ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, FREQUENCY},
};

/* Reads "freq=99/" or "period=1000/", the text behind the first slash. */
static int read_term(struct kernel_event *event, const char *term)
{
	const size_t size = strlen(term);
	char number[24];
	const char *value = strchr(term, '=');
	uint64_t period;

	if (!value || !size || term[size - 1] != '/' || (size_t)(term + size - value) > sizeof(number))
		goto misuse;
	memcpy(number, value + 1, (size_t)(term + size - 1 - (value + 1)));
	number[term + size - 1 - (value + 1)] = 0;
	event->frequency = !strncmp(term, "freq=", 5);
	if ((!event->frequency && strncmp(term, "period=", 7) != 0) || common_parse_u64(number, &period) < 0 || !period)
		goto misuse;
	event->period = period;
	return 0;
misuse:
	return common_fail(PTL_MISUSE, "%s: behind the event's name there may be /freq=N/ or /period=N/", event->name);
}

int kernel_event_counter_read(struct kernel_event *event)
{
	const size_t size = strcspn(event->name, "/");

	if (event->filter)
		return common_fail(PTL_MISUSE, "%s has no filter: only tracepoints have", event->name);
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		const struct counter *counter = &counters[i];

		if (strlen(counter->name) != size || memcmp(counter->name, event->name, size) != 0)
			continue;
		event->samples = true;
		event->type = counter->type;
		event->config = counter->config;
		event->frequency = counter->frequency != EACH;
		event->period = counter->frequency == EACH ? 1 : counter->frequency;
		if (!event->name[size])
			return 0;
		event->shown = strdup(counter->name);
		return event->shown ? read_term(event, event->name + size + 1) : common_fail_memory("a counter", size);
	}
	return common_fail(PTL_MISUSE,
			   "'%s' is no event of the kernel: SYSTEM:EVENT, as sched:sched_switch, "
			   "uprobe:PATH:FUNCTION, sdt:PATH:PROBE, or a counter, as cpu-clock or page-faults",
			   event->name);
}
