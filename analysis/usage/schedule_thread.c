/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads of the fold of context switches, and their names. */
#include <inttypes.h>

#include "analysis/usage/schedule_state.h"
#include "common/error.h"
#include "common/text/text.h"
#include "common/vector.h"

/* Takes what the timeline knows about the thread with the tid at the time. */
static void take_timeline(const struct usage_schedule_state *state, uint64_t time, struct usage_thread *thread)
{
	const struct flow_timeline_thread *own = usage_tids_find(&state->tids, thread->tid, time, &thread->next);

	if (!own)
		return;
	thread->pid = own->pid;
	thread->process = own->process;
	thread->timeline_name = own->name;
	thread->begin = own->started && own->start <= time ? own->start : 0;
	thread->end = own->ended && own->end > time ? own->end : FLOW_TIME_END;
}

/* ---- threads of the fold --------------------------------------------------------------------------- */

/* A thread without an earlier event was off the CPU since its beginning, if all switches are recorded. */
static void begin_thread(const struct usage_schedule *schedule, uint64_t time, struct usage_thread *thread)
{
	const uint64_t known = schedule->state->first_time;
	const uint64_t from = thread->begin > known ? thread->begin : known;

	thread->state = schedule->partial ? USAGE_UNKNOWN : USAGE_OFF;
	thread->since = schedule->partial || from > time ? thread->begin : from;
	if (!schedule->partial)
		thread->times[USAGE_UNKNOWN] += usage_within(schedule, thread->begin, thread->since);
}

static int add_thread(struct usage_schedule *schedule, uint32_t tid, uint32_t pid, uint64_t time, uint32_t *number)
{
	struct usage_thread *thread;

	if (COMMON_VECTOR_RESERVE(schedule->threads, schedule->thread_capacity, schedule->thread_count + 1, "threads"))
		return PTL_NO_MEMORY;
	thread = &schedule->threads[schedule->thread_count];
	*thread = (struct usage_thread){
		.tid = tid,
		.pid = pid,
		.process = FLOW_NONE,
		.timeline_name = "",
		.end = FLOW_TIME_END,
		.next = FLOW_TIME_END,
		.cpu = FLOW_NONE,
		.waker_pair = USAGE_NO_PAIR,
		.waker = USAGE_NOBODY,
		.chain = USAGE_NO_CHAIN,
	};
	take_timeline(schedule->state, time, thread);
	begin_thread(schedule, time, thread);
	*number = (uint32_t)schedule->thread_count++;
	return common_hash_map_put(&schedule->state->by_tid, tid, *number);
}

int usage_thread_find(struct usage_schedule *schedule, uint32_t tid, uint32_t pid, uint64_t time, bool fresh,
		      uint32_t *number)
{
	const uint64_t *known = common_hash_map_get(&schedule->state->by_tid, tid);
	struct usage_thread *thread = known ? &schedule->threads[*known] : NULL;

	if (tid == PTL_NO_ID || tid % PTL_MACHINE_IDS == 0) {
		*number = tid == PTL_NO_ID ? USAGE_NOBODY : USAGE_IDLE;
		return 0;
	}
	if (!thread || time >= thread->next || (fresh && thread->state == USAGE_ENDED))
		return add_thread(schedule, tid, pid, time, number);
	if (thread->pid == PTL_NO_ID)
		thread->pid = pid;
	*number = (uint32_t)*known;
	return 0;
}

/* ---- names ----------------------------------------------------------------------------------------- */

const char *const usage_state_names[] = {
	[USAGE_RUNNING] = "running", [USAGE_WAITING] = "waiting", [USAGE_SLEEPING] = "sleeping",
	[USAGE_BLOCKED] = "blocked", [USAGE_OFF] = "off",         [USAGE_UNKNOWN] = "unknown",
	[USAGE_ENDED] = "ended",
};

const char *usage_thread_name(const struct usage_thread *thread, const struct flow_timeline *timeline)
{
	if (*thread->timeline_name)
		return thread->timeline_name;
	if (thread->name[0])
		return thread->name;
	return flow_timeline_process_name(timeline, thread->process, 0);
}

void usage_thread_text(const struct usage_schedule *schedule, const struct flow_timeline *timeline, uint32_t number,
		       struct ptl_bytes *text)
{
	const struct usage_thread *thread;

	if (number >= schedule->thread_count) {
		common_text_add(text, number == USAGE_IDLE        ? "[idle]"
				      : number == USAGE_INTERRUPT ? "[interrupt]"
								  : "[unknown]");
		return;
	}
	thread = &schedule->threads[number];
	common_text_safe(text, usage_thread_name(thread, timeline));
	if (thread->pid == PTL_NO_ID)
		common_text_format(text, "%s?/%" PRIu32, text->size ? " " : "", thread->tid);
	else
		common_text_format(text, "%s%" PRIu32 "/%" PRIu32, text->size ? " " : "", thread->pid, thread->tid);
}
