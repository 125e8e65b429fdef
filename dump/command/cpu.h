/* SPDX-License-Identifier: BSD-2-Clause */
/* Outputs of ptl-dump cpu. */
#ifndef DUMP_COMMAND_CPU_H
#define DUMP_COMMAND_CPU_H

#include "analysis/usage/schedule_rows.h"
#include "dump/run/command.h"

enum dump_cpu_by { CPU_ALL, CPU_CPU, CPU_PROCESS, CPU_THREAD, CPU_WAKER, CPU_CHAIN, CPU_AHEAD, CPU_SLICE };

struct dump_cpu_run {
	struct dump_run *run;
	const struct analysis_input *input;
	const struct flow_timeline *timeline;
	const struct usage_schedule *schedule;
	const struct usage_rows *rows;
	enum dump_cpu_by by;
	bool limited;
	uint64_t limit;  /* rows of each list, if limited */
	uint64_t slices; /* slices shown so far */
};

/* Print everything that --by selects. Return 0 or PTL_NO_MEMORY. */
int dump_cpu_text(const struct dump_cpu_run *cpu_run);
int dump_cpu_json(const struct dump_cpu_run *cpu_run);
/* Prints the first lines: who ran, who waited, who slept for whom. */
int dump_cpu_text_summary(const struct dump_cpu_run *cpu_run);
/* Print a slice; for usage_schedule_read, with the run as context. Return the status of dump_output_check. */
int dump_cpu_text_slice(void *cpu_run, const struct usage_schedule *schedule, const struct usage_slice *slice);
int dump_cpu_json_slice(void *cpu_run, const struct usage_schedule *schedule, const struct usage_slice *slice);

/* Whether a list with so many rows has all rows that --limit permits. */
static inline bool dump_cpu_is_full(const struct dump_cpu_run *cpu_run, uint64_t shown)
{
	return cpu_run->limited && shown >= cpu_run->limit;
}

#endif
