/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON of ptl-dump cpu: an object a line. */
#include <stdlib.h>

#include "common/error.h"
#include "common/text/text.h"
#include "dump/command/cpu.h"
#include "dump/run/run.h"

static void put_end(struct common_json *json)
{
	common_json_object_end(json);
	common_json_line(json);
}

static bool wants_list(const struct dump_cpu_run *cpu_run, enum dump_cpu_by by)
{
	return cpu_run->by == CPU_ALL || cpu_run->by == by;
}

static void put_thread(const struct dump_cpu_run *cpu_run, const char *key, uint32_t number)
{
	struct common_json *json = &cpu_run->run->json_out;
	const struct usage_thread *thread;

	if (number >= cpu_run->schedule->thread_count) {
		common_json_string(json, key,
				   number == USAGE_IDLE        ? "idle"
				   : number == USAGE_INTERRUPT ? "interrupt"
							       : NULL);
		return;
	}
	thread = &cpu_run->schedule->threads[number];
	common_json_object(json, key);
	if (thread->pid != PTL_NO_ID)
		common_json_u64(json, "pid", thread->pid);
	common_json_u64(json, "tid", thread->tid);
	common_json_string(json, "name", usage_thread_name(thread, cpu_run->timeline));
	common_json_object_end(json);
}

static void put_times(struct common_json *json, const uint64_t times[USAGE_STATES])
{
	for (unsigned i = 0; i < USAGE_STATES; i++)
		common_json_u64(json, usage_state_names[i], times[i]);
}

static void put_counts(const struct dump_cpu_run *cpu_run, uint64_t switches, uint64_t preempted, uint64_t wakes,
		       const struct usage_spread *delay)
{
	struct common_json *json = &cpu_run->run->json_out;

	common_json_u64(json, "switches", switches);
	common_json_u64(json, "preempted", preempted);
	common_json_u64(json, "wakes", wakes);
	common_json_u64(json, "waits", delay->count);
	common_json_u64(json, "waits_total", delay->total);
	common_json_u64(json, "longest_wait", delay->longest);
	dump_json_time(cpu_run->run, "longest_wait_end", delay->longest_at);
}

static void put_window(const struct dump_cpu_run *cpu_run)
{
	struct common_json *json = &cpu_run->run->json_out;
	const struct usage_schedule *schedule = cpu_run->schedule;
	const struct usage_total *total = &cpu_run->rows->total;

	common_json_object(json, NULL);
	common_json_string(json, "type", "window");
	dump_json_time(cpu_run->run, "start", schedule->first);
	dump_json_time(cpu_run->run, "end", schedule->last);
	common_json_u64(json, "cpus", total->cpus);
	common_json_u64(json, "cpus_without_events", total->cpus_absent);
	common_json_u64(json, "all", total->all);
	common_json_u64(json, "busy", total->busy);
	common_json_u64(json, "idle", total->idle);
	common_json_u64(json, "unknown", total->unknown);
	common_json_u64(json, "without_events", total->absent);
	common_json_u64(json, "of_selected", total->of_selected);
	common_json_u64(json, "switches", schedule->switches);
	common_json_u64(json, "wakeups", schedule->wakeups);
	common_json_u64(json, "breaks", schedule->breaks);
	common_json_u64(json, "lost_events", schedule->lost);
	common_json_bool(json, "partial", schedule->partial);
	put_end(json);
}

static void put_cpus(const struct dump_cpu_run *cpu_run)
{
	struct common_json *json = &cpu_run->run->json_out;
	uint64_t shown = 0;

	for (size_t i = 0; i < cpu_run->schedule->cpu_count; i++) {
		const struct usage_cpu *cpu = &cpu_run->schedule->cpus[i];

		if (!cpu->selected || dump_cpu_is_full(cpu_run, shown++))
			continue;
		common_json_object(json, NULL);
		common_json_string(json, "type", "cpu");
		common_json_u64(json, "cpu", cpu->cpu);
		common_json_u64(json, "busy", cpu->busy);
		common_json_u64(json, "idle", cpu->idle);
		common_json_u64(json, "unknown", cpu->unknown);
		common_json_u64(json, "of_selected", cpu->of_selected);
		common_json_u64(json, "switches", cpu->switches);
		put_end(json);
	}
}

static void put_processes(const struct dump_cpu_run *cpu_run)
{
	struct common_json *json = &cpu_run->run->json_out;

	for (size_t i = 0; i < cpu_run->rows->process_count && !dump_cpu_is_full(cpu_run, i); i++) {
		const struct usage_process *process = &cpu_run->rows->processes[i];

		common_json_object(json, NULL);
		common_json_string(json, "type", "process");
		if (process->pid != PTL_NO_ID)
			common_json_u64(json, "pid", process->pid);
		common_json_string(json, "name", usage_process_name(process, cpu_run->schedule, cpu_run->timeline));
		common_json_u64(json, "threads", process->threads);
		put_times(json, process->times);
		put_counts(cpu_run, process->switches, process->preempted, process->wakes, &process->delay);
		put_end(json);
	}
}

static void put_threads(const struct dump_cpu_run *cpu_run)
{
	struct common_json *json = &cpu_run->run->json_out;

	for (size_t i = 0; i < cpu_run->rows->thread_count && !dump_cpu_is_full(cpu_run, i); i++) {
		const struct usage_thread *thread = &cpu_run->schedule->threads[cpu_run->rows->threads[i]];

		common_json_object(json, NULL);
		common_json_string(json, "type", "thread");
		if (thread->pid != PTL_NO_ID)
			common_json_u64(json, "pid", thread->pid);
		common_json_u64(json, "tid", thread->tid);
		common_json_string(json, "name", usage_thread_name(thread, cpu_run->timeline));
		put_times(json, thread->times);
		common_json_u64(json, "elsewhere", thread->elsewhere);
		put_counts(cpu_run, thread->switches, thread->preempted, thread->wakes, &thread->delay);
		common_json_u64(json, "migrations", thread->migrations);
		put_end(json);
	}
}

static int put_pairs(const struct dump_cpu_run *cpu_run, const struct usage_pairs *pairs, bool wakes)
{
	struct common_json *json = &cpu_run->run->json_out;
	uint32_t *order = usage_pairs_sort(pairs);
	uint64_t shown = 0;

	if (!order)
		return common_fail_memory("pairs of threads", pairs->count * sizeof(*order));
	for (size_t i = 0; i < pairs->count && !dump_cpu_is_full(cpu_run, shown); i++) {
		const struct usage_pair *pair = &pairs->list[order[i]];

		if (!usage_rows_want_pair(cpu_run->schedule, cpu_run->input, pair->a, pair->b))
			continue;
		common_json_object(json, NULL);
		common_json_string(json, "type", wakes ? "waker" : "ahead");
		put_thread(cpu_run, wakes ? "waker" : "running", pair->a);
		put_thread(cpu_run, wakes ? "woken" : "waiting", pair->b);
		common_json_u64(json, "count", pair->count);
		common_json_u64(json, wakes ? "asleep" : "waited", pair->total);
		common_json_u64(json, "longest", pair->longest);
		if (wakes) {
			common_json_u64(json, "delay", pair->delay);
			common_json_u64(json, "longest_delay", pair->longest_delay);
		}
		put_end(json);
		shown++;
	}
	free(order);
	return 0;
}

static int put_chains(const struct dump_cpu_run *cpu_run)
{
	const struct usage_chains *chains = &cpu_run->schedule->chains;
	struct common_json *json = &cpu_run->run->json_out;
	uint32_t *order = usage_chains_sort(chains);
	uint64_t shown = 0;

	if (!order)
		return common_fail_memory("chains of wake-ups", chains->count * sizeof(*order));
	for (size_t i = 0; i < chains->count && !dump_cpu_is_full(cpu_run, shown); i++) {
		const struct usage_chain *chain = &chains->list[order[i]];

		if (!chain->count ||
		    !usage_rows_want_pair(cpu_run->schedule, cpu_run->input, chain->thread, chain->thread))
			continue;
		common_json_object(json, NULL);
		common_json_string(json, "type", "chain");
		common_json_u64(json, "count", chain->count);
		common_json_u64(json, "asleep", chain->total);
		common_json_u64(json, "longest", chain->longest);
		common_json_array(json, "threads");
		for (uint32_t at = order[i]; at != USAGE_NO_CHAIN; at = chains->list[at].waker)
			put_thread(cpu_run, NULL, chains->list[at].thread);
		common_json_array_end(json);
		put_end(json);
		shown++;
	}
	free(order);
	return 0;
}

int dump_cpu_json(const struct dump_cpu_run *cpu_run)
{
	int status = 0;

	put_window(cpu_run);
	if (wants_list(cpu_run, CPU_CPU))
		put_cpus(cpu_run);
	if (wants_list(cpu_run, CPU_PROCESS))
		put_processes(cpu_run);
	if (wants_list(cpu_run, CPU_THREAD))
		put_threads(cpu_run);
	if (wants_list(cpu_run, CPU_WAKER))
		status = put_pairs(cpu_run, &cpu_run->schedule->wakes, true);
	if (status == 0 && wants_list(cpu_run, CPU_AHEAD))
		status = put_pairs(cpu_run, &cpu_run->schedule->ahead, false);
	if (status == 0 && wants_list(cpu_run, CPU_CHAIN))
		status = put_chains(cpu_run);
	return status;
}

int dump_cpu_json_slice(void *context, const struct usage_schedule *schedule, const struct usage_slice *slice)
{
	struct dump_cpu_run *cpu_run = context;
	struct common_json *json = &cpu_run->run->json_out;
	const struct usage_thread *thread = &schedule->threads[slice->thread];

	if (!usage_rows_want(schedule, cpu_run->input, slice->thread) || dump_cpu_is_full(cpu_run, cpu_run->slices++))
		return 0;
	common_json_object(json, NULL);
	common_json_string(json, "type", "slice");
	common_json_u64(json, "cpu", slice->cpu);
	if (thread->pid != PTL_NO_ID)
		common_json_u64(json, "pid", thread->pid);
	common_json_u64(json, "tid", thread->tid);
	common_json_string(json, "name", usage_thread_name(thread, cpu_run->timeline));
	dump_json_time(cpu_run->run, "start", slice->from);
	dump_json_time(cpu_run->run, "end", slice->to);
	if (slice->ready_at)
		dump_json_time(cpu_run->run, "ready", slice->ready_at);
	if (slice->waker != USAGE_NOBODY)
		put_thread(cpu_run, "waker", slice->waker);
	common_json_string(json, "after", usage_state_names[slice->after]);
	put_end(json);
	return dump_output_check(cpu_run->run);
}
