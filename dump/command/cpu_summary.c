/* SPDX-License-Identifier: BSD-2-Clause */
/* First lines of ptl-dump cpu: where the time went, and whom to look at. */
#include <inttypes.h>

#include "common/error.h"
#include "common/text/text.h"
#include "dump/command/cpu.h"

#define KTHREADD 2 /* parent of the kernel's threads */

static void add_thread(const struct dump_cpu_run *cpu_run, struct ptl_bytes *text, uint32_t thread)
{
	common_text_add(text, dump_bold(cpu_run->run));
	usage_thread_text(cpu_run->schedule, cpu_run->timeline, thread, text);
	common_text_add(text, dump_plain(cpu_run->run));
}

/* Appends ", once" or ", 12 times". */
static void add_times(struct ptl_bytes *text, uint64_t count)
{
	if (count == 1)
		common_text_add(text, ", once");
	else
		common_text_format(text, ", %" PRIu64 " times", count);
}

static void add_share(struct ptl_bytes *text, const char *what, uint64_t part, uint64_t all)
{
	common_text_format(text, ", %s ", what);
	common_text_share(text, part, all);
}

static void add_window(const struct dump_cpu_run *cpu_run, struct ptl_bytes *text)
{
	const struct usage_total *total = &cpu_run->rows->total;

	common_text_format(text, "window   %zu CPU%s, ", total->cpus, total->cpus == 1 ? "" : "s");
	common_text_duration(text, cpu_run->schedule->last - cpu_run->schedule->first);
	add_share(text, "busy", total->busy, total->all);
	add_share(text, "idle", total->idle, total->all);
	add_share(text, "not represented", total->unknown + total->absent, total->all);
	if (cpu_run->schedule->lost)
		common_text_format(text, ", lost events: %" PRIu64, cpu_run->schedule->lost);
	common_text_add(text, "\n");
}

static void add_running(const struct dump_cpu_run *cpu_run, struct ptl_bytes *text)
{
	const uint32_t number = cpu_run->rows->thread_count ? cpu_run->rows->threads[0] : USAGE_NOBODY;
	uint64_t running;

	if (number == USAGE_NOBODY || !cpu_run->schedule->threads[number].times[USAGE_RUNNING])
		return;
	running = cpu_run->schedule->threads[number].times[USAGE_RUNNING];
	common_text_add(text, "running  ");
	add_thread(cpu_run, text, number);
	common_text_add(text, " ran most: ");
	common_text_duration(text, running);
	add_share(text, "of all CPUs", running, cpu_run->rows->total.all);
	common_text_add(text, "\n");
}

/* Returns the selected thread with the most time in the state; USAGE_NOBODY: no time. */
static uint32_t most_of(const struct dump_cpu_run *cpu_run, enum usage_state state)
{
	const struct usage_thread *threads = cpu_run->schedule->threads;
	uint32_t most = USAGE_NOBODY;

	for (size_t i = 0; i < cpu_run->rows->thread_count; i++) {
		const uint32_t number = cpu_run->rows->threads[i];

		if (threads[number].times[state] &&
		    (most == USAGE_NOBODY || threads[number].times[state] > threads[most].times[state]))
			most = number;
	}
	return most;
}

/* Returns the pair with the most total whose second thread this is; NULL: none. */
static const struct usage_pair *most_ahead(const struct usage_pairs *pairs, uint32_t thread)
{
	const struct usage_pair *most = NULL;

	for (size_t i = 0; i < pairs->count; i++)
		if (pairs->list[i].b == thread && (!most || pairs->list[i].total > most->total))
			most = &pairs->list[i];
	return most;
}

static void add_waiting(const struct dump_cpu_run *cpu_run, struct ptl_bytes *text)
{
	const uint32_t number = most_of(cpu_run, USAGE_WAITING);
	const struct usage_pair *ahead;
	const struct usage_thread *thread;

	if (number == USAGE_NOBODY)
		return;
	thread = &cpu_run->schedule->threads[number];
	ahead = most_ahead(&cpu_run->schedule->ahead, number);
	common_text_add(text, "waiting  ");
	add_thread(cpu_run, text, number);
	common_text_add(text, " waited for a CPU: ");
	common_text_duration(text, thread->times[USAGE_WAITING]);
	if (thread->delay.count) {
		add_times(text, thread->delay.count);
		common_text_add(text, ", longest ");
		common_text_duration(text, thread->delay.longest);
		common_text_add(text, " until ");
		common_text_milliseconds(text, thread->delay.longest_at,
					 ptl_trace_machine(cpu_run->run->trace)->start_time);
		common_text_add(text, " ms");
	}
	if (ahead && ahead->total) {
		common_text_add(text, "; meanwhile ran mostly ");
		add_thread(cpu_run, text, ahead->a);
	}
	common_text_add(text, "\n");
}

/* Whether the thread belongs to a program, and not to the kernel. */
static bool is_of_program(const struct dump_cpu_run *cpu_run, uint32_t number)
{
	const struct usage_thread *thread = number < cpu_run->schedule->thread_count
						    ? &cpu_run->schedule->threads[number]
						    : NULL;

	if (!thread || thread->process == FLOW_NONE || thread->pid % PTL_MACHINE_IDS <= KTHREADD)
		return false;
	return flow_timeline_process(cpu_run->timeline, thread->process)->parent_pid % PTL_MACHINE_IDS != KTHREADD;
}

/* Ranks a chain by its last two threads: 2, threads of one program, as with a lock; 1, of two programs; 0, of others. */
static unsigned rank_chain(const struct dump_cpu_run *cpu_run, const struct usage_chain *chain)
{
	const struct usage_schedule *schedule = cpu_run->schedule;
	uint32_t waker;

	if (!chain->count || chain->waker == USAGE_NO_CHAIN ||
	    !usage_rows_want(schedule, cpu_run->input, chain->thread))
		return 0;
	waker = schedule->chains.list[chain->waker].thread;
	if (!is_of_program(cpu_run, chain->thread) || !is_of_program(cpu_run, waker))
		return 0;
	return schedule->threads[chain->thread].pid == schedule->threads[waker].pid ? 2 : 1;
}

/*
 * Finds the chain that continues a chain: threads that slept until this chain's last thread woke them, for at least
 * half the time. Returns the chain itself if none does.
 */
static uint32_t longer_chain(const struct dump_cpu_run *cpu_run, uint32_t chain)
{
	const struct usage_chains *chains = &cpu_run->schedule->chains;
	const unsigned rank = rank_chain(cpu_run, &chains->list[chain]);
	uint32_t longer = chain;

	for (uint32_t i = 0; i < chains->count; i++)
		if (chains->list[i].waker == chain && rank_chain(cpu_run, &chains->list[i]) == rank &&
		    chains->list[i].total >= chains->list[chain].total / 2 &&
		    (longer == chain || chains->list[i].total > chains->list[longer].total))
			longer = i;
	return longer;
}

/* Finds the chain of the highest rank with the most time asleep. A longer chain is another chain. */
static uint32_t most_chain(const struct dump_cpu_run *cpu_run)
{
	const struct usage_chains *chains = &cpu_run->schedule->chains;
	uint32_t most = USAGE_NO_CHAIN;
	unsigned rank = 0;

	for (uint32_t i = 0; i < chains->count; i++) {
		const unsigned own = rank_chain(cpu_run, &chains->list[i]);

		if (!own || own < rank || (own == rank && chains->list[i].total <= chains->list[most].total))
			continue;
		most = i;
		rank = own;
	}
	for (unsigned depth = 0; most != USAGE_NO_CHAIN && depth < USAGE_CHAIN_MAX; depth++)
		most = longer_chain(cpu_run, most);
	return most;
}

static void add_woken(const struct dump_cpu_run *cpu_run, struct ptl_bytes *text)
{
	const struct usage_chains *chains = &cpu_run->schedule->chains;
	const uint32_t most = most_chain(cpu_run);
	const struct usage_chain *chain;

	if (most == USAGE_NO_CHAIN)
		return;
	chain = &chains->list[most];
	common_text_add(text, "asleep   ");
	add_thread(cpu_run, text, chain->thread);
	common_text_add(text, " slept ");
	common_text_duration(text, chain->total);
	add_times(text, chain->count);
	for (uint32_t at = chain->waker; at != USAGE_NO_CHAIN; at = chains->list[at].waker) {
		common_text_add(text, at == chain->waker ? ", until woken by " : ", itself woken by ");
		add_thread(cpu_run, text, chains->list[at].thread);
	}
	common_text_add(text, "\n");
}

static void add_blocked(const struct dump_cpu_run *cpu_run, struct ptl_bytes *text)
{
	const uint32_t number = most_of(cpu_run, USAGE_BLOCKED);

	if (number == USAGE_NOBODY)
		return;
	common_text_add(text, "blocked  ");
	add_thread(cpu_run, text, number);
	common_text_add(text, " was blocked, mostly by a disk: ");
	common_text_duration(text, cpu_run->schedule->threads[number].times[USAGE_BLOCKED]);
	common_text_add(text, "\n");
}

int dump_cpu_text_summary(const struct dump_cpu_run *cpu_run)
{
	struct ptl_bytes text = {0};
	int status;

	add_window(cpu_run, &text);
	add_running(cpu_run, &text);
	add_waiting(cpu_run, &text);
	add_woken(cpu_run, &text);
	add_blocked(cpu_run, &text);
	status = text.failed ? common_fail_memory("the summary", text.size) : 0;
	common_text_write(&text, cpu_run->run->out);
	common_bytes_free(&text);
	return status;
}
