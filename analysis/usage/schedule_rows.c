/* SPDX-License-Identifier: BSD-2-Clause */
#include "analysis/usage/schedule_rows.h"

#include <stdlib.h>

#include "common/error.h"

bool usage_rows_want(const struct usage_schedule *schedule, const struct analysis_input *input, uint32_t thread)
{
	return thread >= schedule->thread_count ||
	       analysis_filter_wants_thread(input->filter, schedule->threads[thread].pid,
					    schedule->threads[thread].tid);
}

bool usage_rows_want_pair(const struct usage_schedule *schedule, const struct analysis_input *input, uint32_t a,
			  uint32_t b)
{
	return (a < schedule->thread_count && usage_rows_want(schedule, input, a)) ||
	       (b < schedule->thread_count && usage_rows_want(schedule, input, b));
}

/* ---- CPUs ------------------------------------------------------------------------------------------ */

/* Counts the CPUs of all machines, and CPUs that no machine record has. */
static void count_cpus(struct usage_total *total, const struct usage_schedule *schedule,
		       const struct analysis_input *input)
{
	const struct common_id_set *wanted = &input->filter->cpus;
	size_t known = 0, with_events = 0;

	for (size_t m = 0; m < ptl_machine_count(input->trace); m++) {
		const struct ptl_machine *machine = ptl_machine_at(input->trace, m);
		const uint32_t count = machine && machine->cpus < PTL_MACHINE_IDS ? machine->cpus : 0;

		for (uint32_t cpu = 0; cpu < count; cpu++)
			known += common_id_set_has(wanted, (uint32_t)m * PTL_MACHINE_IDS + cpu);
	}
	for (size_t i = 0; i < schedule->cpu_count; i++)
		with_events += schedule->cpus[i].selected;
	total->cpus = known > with_events ? known : with_events;
	total->cpus_absent = total->cpus - with_events;
}

static void add_cpus(struct usage_total *total, const struct usage_schedule *schedule,
		     const struct analysis_input *input)
{
	const uint64_t span = schedule->last > schedule->first ? schedule->last - schedule->first : 0;

	count_cpus(total, schedule, input);
	total->absent = span * total->cpus_absent;
	for (size_t i = 0; i < schedule->cpu_count; i++) {
		const struct usage_cpu *cpu = &schedule->cpus[i];

		if (!cpu->selected)
			continue;
		total->busy += cpu->busy;
		total->idle += cpu->idle;
		total->unknown += cpu->unknown;
		total->of_selected += cpu->of_selected;
	}
	total->all = span * total->cpus;
}

/* ---- threads --------------------------------------------------------------------------------------- */

static int compare_threads(const void *a, const void *b, void *context)
{
	const struct usage_schedule *schedule = context;
	const struct usage_thread *x = &schedule->threads[*(const uint32_t *)a];
	const struct usage_thread *y = &schedule->threads[*(const uint32_t *)b];

	if (x->times[USAGE_RUNNING] != y->times[USAGE_RUNNING])
		return x->times[USAGE_RUNNING] > y->times[USAGE_RUNNING] ? -1 : 1;
	if (x->times[USAGE_WAITING] != y->times[USAGE_WAITING])
		return x->times[USAGE_WAITING] > y->times[USAGE_WAITING] ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* Threads that are only named as wakers have no row. */
static bool has_row(const struct usage_thread *thread)
{
	bool some = thread->cpu != FLOW_NONE;

	for (unsigned i = 0; i < USAGE_UNKNOWN && !some; i++)
		some = thread->times[i] && i != USAGE_OFF;
	return some;
}

static int list_threads(struct usage_rows *rows, const struct usage_schedule *schedule,
			const struct analysis_input *input)
{
	rows->threads = malloc((schedule->thread_count + 1) * sizeof(*rows->threads));
	if (!rows->threads)
		return common_fail_memory("threads", schedule->thread_count * sizeof(*rows->threads));
	for (uint32_t i = 0; i < schedule->thread_count; i++)
		if (has_row(&schedule->threads[i]) && usage_rows_want(schedule, input, i))
			rows->threads[rows->thread_count++] = i;
	qsort_r(rows->threads, rows->thread_count, sizeof(*rows->threads), compare_threads,
		(void *)(uintptr_t)schedule);
	return 0;
}

/* ---- processes ------------------------------------------------------------------------------------- */

static void add_thread(struct usage_process *process, const struct usage_thread *thread)
{
	process->threads++;
	for (unsigned i = 0; i < USAGE_STATES; i++)
		process->times[i] += thread->times[i];
	process->switches += thread->switches;
	process->preempted += thread->preempted;
	process->wakes += thread->wakes;
	process->delay.count += thread->delay.count;
	process->delay.total += thread->delay.total;
	if (thread->delay.longest > process->delay.longest) {
		process->delay.longest = thread->delay.longest;
		process->delay.longest_at = thread->delay.longest_at;
	}
}

static int compare_processes(const void *a, const void *b)
{
	const struct usage_process *x = a, *y = b;

	if (x->times[USAGE_RUNNING] != y->times[USAGE_RUNNING])
		return x->times[USAGE_RUNNING] > y->times[USAGE_RUNNING] ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* Threads come sorted, so the first thread of a process has the most running time. */
static int list_processes(struct usage_rows *rows, const struct usage_schedule *schedule)
{
	struct common_hash_map index = {.used = 0};
	int status = 0;

	rows->processes = malloc((rows->thread_count + 1) * sizeof(*rows->processes));
	if (!rows->processes)
		return common_fail_memory("processes", rows->thread_count * sizeof(*rows->processes));
	for (size_t i = 0; status == 0 && i < rows->thread_count; i++) {
		const struct usage_thread *thread = &schedule->threads[rows->threads[i]];
		const uint64_t key = (uint64_t)thread->pid << 32 | thread->process;
		const uint64_t *known = common_hash_map_get(&index, key);
		const size_t at = known ? (size_t)*known : rows->process_count;

		if (!known) {
			rows->processes[rows->process_count++] = (struct usage_process){
				.pid = thread->pid, .process = thread->process, .thread = rows->threads[i]};
			status = common_hash_map_put(&index, key, at);
		}
		add_thread(&rows->processes[at], thread);
	}
	common_hash_map_free(&index);
	qsort(rows->processes, rows->process_count, sizeof(*rows->processes), compare_processes);
	return status;
}

int usage_rows_make(struct usage_rows *rows, const struct usage_schedule *schedule, const struct analysis_input *input)
{
	int status;

	*rows = (struct usage_rows){.thread_count = 0};
	add_cpus(&rows->total, schedule, input);
	status = list_threads(rows, schedule, input);
	return status < 0 ? status : list_processes(rows, schedule);
}

void usage_rows_free(struct usage_rows *rows)
{
	free(rows->threads);
	free(rows->processes);
	*rows = (struct usage_rows){.thread_count = 0};
}

const char *usage_process_name(const struct usage_process *process, const struct usage_schedule *schedule,
			       const struct flow_timeline *timeline)
{
	const char *name = flow_timeline_process_name(timeline, process->process, 0);

	return *name ? name : usage_thread_name(&schedule->threads[process->thread], timeline);
}
