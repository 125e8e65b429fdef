/* SPDX-License-Identifier: BSD-2-Clause */
#include "analysis/usage/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/usage/schedule_state.h"
#include "common/error.h"
#include "common/vector.h"
#include "format/event/kernel_class.h"
#include "format/reader/trace_end.h"

/* common_flags of a tracepoint: hardirq, softirq, NMI. Flag of ReadyThread: a DPC runs. */
#define IN_INTERRUPT 0x58u
#define IN_DPC 1u
/* nanoseconds between two records of one switch, at most */
#define SWITCH_TIME 100000u

/* ---- CPUs ------------------------------------------------------------------------------------------ */

static int find_cpu(struct usage_schedule *schedule, uint32_t number, uint32_t *index)
{
	const uint64_t *known = common_hash_map_get(&schedule->state->by_cpu, number);

	if (known) {
		*index = (uint32_t)*known;
		return 0;
	}
	if (COMMON_VECTOR_RESERVE(schedule->cpus, schedule->cpu_capacity, schedule->cpu_count + 1, "CPUs"))
		return PTL_NO_MEMORY;
	*index = (uint32_t)schedule->cpu_count;
	schedule->cpus[schedule->cpu_count++] = (struct usage_cpu){
		.cpu = number,
		.current = USAGE_NOBODY,
		.last = USAGE_NOBODY,
		.hint_tid = PTL_NO_ID,
		.selected = common_id_set_has(&schedule->state->input->filter->cpus, number),
	};
	return common_hash_map_put(&schedule->state->by_cpu, number, *index);
}

static void add_time(struct usage_schedule *schedule, struct usage_thread *thread, enum usage_state state, uint64_t to)
{
	if (state != USAGE_ENDED && to > thread->since)
		thread->times[state] += usage_within(schedule, thread->since, to);
	thread->since = to;
}

/* Adds running time, to the thread and to the CPU. */
static void add_running(struct usage_schedule *schedule, struct usage_cpu *cpu, struct usage_thread *thread,
			uint64_t to)
{
	const uint64_t time = usage_within(schedule, cpu->since, to);

	thread->since = to;
	cpu->busy += time;
	*(cpu->selected ? &thread->times[USAGE_RUNNING] : &thread->elsewhere) += time;
	if (analysis_filter_wants_thread(schedule->state->input->filter, thread->pid, thread->tid))
		cpu->of_selected += time;
}

static int emit_slice(struct usage_schedule *schedule, const struct usage_cpu *cpu, uint64_t to, enum usage_state after)
{
	const struct usage_thread *thread = &schedule->threads[cpu->current];
	struct usage_slice slice = {
		.cpu = cpu->cpu,
		.thread = cpu->current,
		.from = cpu->since > schedule->first ? cpu->since : schedule->first,
		.to = to < schedule->last ? to : schedule->last,
		.ready_at = thread->ready_at,
		.waker = thread->waker,
		.after = after,
	};

	if (!schedule->state->each || slice.from > slice.to || cpu->since > schedule->last || !cpu->selected ||
	    (after == USAGE_RUNNING && slice.from == slice.to))
		return 0;
	return schedule->state->each(schedule->state->context, schedule, &slice);
}

/*
 * Ends what the CPU did until now. known: the current thread ran until now; false: it left the CPU at an unknown time.
 * Only this function adds running time, to the thread and to the CPU alike.
 */
static int end_run(struct usage_schedule *schedule, struct usage_cpu *cpu, uint64_t now, bool known,
		   enum usage_state after)
{
	struct usage_thread *thread = cpu->current < schedule->thread_count ? &schedule->threads[cpu->current] : NULL;
	const uint64_t since = cpu->since;
	uint64_t until = now;
	int status = 0;

	/* No event reports that a thread leaves its CPU at its end. */
	if (thread && schedule->partial && thread->end < now) {
		until = thread->end > since ? thread->end : since;
		known = true;
	}
	if (thread) {
		if (known) {
			status = emit_slice(schedule, cpu, until, until < now ? USAGE_ENDED : after);
			add_running(schedule, cpu, thread, until);
		} else {
			add_time(schedule, thread, USAGE_UNKNOWN, until);
		}
		thread->state = until < now ? USAGE_ENDED : known ? after : USAGE_UNKNOWN;
		cpu->unknown += usage_within(schedule, known ? until : since, now);
	} else {
		*(cpu->current == USAGE_IDLE && known ? &cpu->idle : &cpu->unknown) += usage_within(schedule, since,
												    now);
	}
	cpu->last = known ? cpu->current : USAGE_NOBODY;
	cpu->last_from = since;
	cpu->last_to = until;
	cpu->current = USAGE_NOBODY;
	cpu->since = now;
	return status;
}

/* The thread leaves its CPU at an unknown time: another event shows it elsewhere. */
static int leave_elsewhere(struct usage_schedule *schedule, struct usage_thread *thread, uint64_t now)
{
	schedule->breaks++;
	return end_run(schedule, &schedule->cpus[thread->cpu], now, false, USAGE_UNKNOWN);
}

static void name_thread(struct usage_thread *thread, const struct usage_value *name)
{
	const size_t size = name->size < sizeof(thread->name) - 1 ? name->size : sizeof(thread->name) - 1;

	if (!name->given || !name->size || !name->bytes)
		return;
	memcpy(thread->name, name->bytes, size);
	thread->name[size] = 0;
}

/* ---- leaving --------------------------------------------------------------------------------------- */

/*
 * The first switch of a CPU shows who ran there since the first event of any CPU: recorders turn the events of all CPUs
 * on at nearly the same time.
 */
static int begin_cpu(struct usage_schedule *schedule, struct usage_cpu *cpu, uint64_t now, uint32_t old)
{
	struct usage_thread *thread = old < schedule->thread_count ? &schedule->threads[old] : NULL;
	const uint64_t first = schedule->state->first_time;
	uint64_t from = thread && thread->begin > first ? thread->begin : first;
	int status;

	cpu->has_events = true;
	if (schedule->partial || old == USAGE_NOBODY || from > now ||
	    (thread && (thread->state != USAGE_OFF || thread->cpu != FLOW_NONE)))
		from = now;
	status = end_run(schedule, cpu, from, true, USAGE_UNKNOWN);
	if (thread && from < now) {
		add_time(schedule, thread, USAGE_OFF, from);
		thread->state = USAGE_RUNNING;
		thread->cpu = (uint32_t)(cpu - schedule->cpus);
	}
	if (from < now)
		cpu->current = old;
	return status;
}

static int switch_out(struct usage_schedule *schedule, struct usage_cpu *cpu, uint64_t now, uint32_t old,
		      enum usage_state after)
{
	struct usage_thread *thread = old < schedule->thread_count ? &schedule->threads[old] : NULL;
	int status = cpu->has_events ? 0 : begin_cpu(schedule, cpu, now, old);

	if (status == 0 && thread && thread->state == USAGE_RUNNING && &schedule->cpus[thread->cpu] != cpu)
		status = leave_elsewhere(schedule, thread, now);
	if (status < 0)
		return status;
	if (cpu->current != old) {
		schedule->breaks += cpu->current != USAGE_NOBODY;
		status = end_run(schedule, cpu, now, false, USAGE_UNKNOWN);
		if (thread)
			add_time(schedule, thread, USAGE_UNKNOWN, now);
	} else {
		status = end_run(schedule, cpu, now, true, after);
	}
	if (!thread)
		return status;
	thread->state = thread->state == USAGE_ENDED || (!schedule->partial && thread->end <= now) ? USAGE_ENDED
												   : after;
	thread->since = now;
	thread->cpu = (uint32_t)(cpu - schedule->cpus);
	thread->ready_at = after == USAGE_WAITING ? now : 0;
	thread->waker = USAGE_NOBODY;
	thread->waker_pair = USAGE_NO_PAIR;
	if (now >= schedule->first && now <= schedule->last) {
		thread->switches++;
		thread->preempted += after == USAGE_WAITING;
	}
	return status;
}

/* ---- entering -------------------------------------------------------------------------------------- */

static int count_delay(struct usage_schedule *schedule, const struct usage_cpu *cpu, uint32_t number, uint64_t now)
{
	const uint64_t pause = schedule->partial ? SWITCH_TIME : 0;
	struct usage_thread *thread = &schedule->threads[number];
	const uint64_t delay = now - thread->ready_at;
	uint32_t pair;
	int status;

	thread->delay.count++;
	thread->delay.total += delay;
	if (delay >= thread->delay.longest) {
		thread->delay.longest = delay;
		thread->delay.longest_at = now;
	}
	if (thread->waker_pair != USAGE_NO_PAIR) {
		struct usage_pair *wake = &schedule->wakes.list[thread->waker_pair];

		wake->delay += delay;
		if (delay > wake->longest_delay)
			wake->longest_delay = delay;
	}
	if (cpu->last >= schedule->thread_count || cpu->last == number || now - cpu->last_to > pause)
		return 0;
	status = usage_pair_find(&schedule->ahead, cpu->last, number, &pair);
	if (status == 0)
		usage_pair_add(&schedule->ahead.list[pair],
			       usage_within(schedule,
					    cpu->last_from > thread->ready_at ? cpu->last_from : thread->ready_at,
					    now));
	return status;
}

static int switch_in(struct usage_schedule *schedule, struct usage_cpu *cpu, uint64_t now, uint32_t new)
{
	struct usage_thread *thread = new < schedule->thread_count ? &schedule->threads[new] : NULL;
	const uint32_t index = (uint32_t)(cpu - schedule->cpus);
	const struct usage_cpu waited = *cpu;
	int status = 0;

	if (thread && thread->state == USAGE_RUNNING && thread->cpu != index)
		status = leave_elsewhere(schedule, thread, now);
	if (status == 0) {
		schedule->breaks += cpu->current < schedule->thread_count;
		status = end_run(schedule, cpu, now, cpu->current >= schedule->thread_count, USAGE_UNKNOWN);
	}
	cpu->has_events = true;
	cpu->current = new;
	if (!thread || status < 0)
		return status;
	if (thread->state == USAGE_WAITING && thread->ready_at && thread->ready_at <= now && now >= schedule->first &&
	    now <= schedule->last)
		status = count_delay(schedule, &waited, new, now);
	if (thread->state != USAGE_WAITING)
		thread->ready_at = 0;
	add_time(schedule, thread, thread->state == USAGE_ENDED ? USAGE_UNKNOWN : thread->state, now);
	thread->migrations += thread->cpu != FLOW_NONE && thread->cpu != index && now >= schedule->first &&
			      now <= schedule->last;
	thread->state = USAGE_RUNNING;
	thread->cpu = index;
	return status;
}

/* ---- switches -------------------------------------------------------------------------------------- */

/* In a partial trace, a thread that never left a CPU is not recorded. */
static bool is_recorded(const struct usage_schedule *schedule, uint32_t tid)
{
	return !schedule->partial || !schedule->state->by_tracepoints ||
	       common_hash_map_get(&schedule->state->own, tid) != NULL;
}

static int take_switch(struct usage_schedule *schedule, const struct ptl_event *event,
		       const struct usage_switch *change, const struct usage_event *read)
{
	const uint64_t now = event->time;
	enum usage_state after = change->old_state;
	uint32_t index, old = USAGE_NOBODY, new = USAGE_NOBODY;
	struct usage_cpu *cpu;
	int status = find_cpu(schedule, change->cpu, &index);

	if (status == 0 && change->has_old)
		status = usage_thread_find(schedule, change->old_tid, change->old_pid, now, false, &old);
	if (status == 0 && is_recorded(schedule, change->new_tid))
		status = usage_thread_find(schedule, change->new_tid, change->new_pid, now, false, &new);
	if (status < 0)
		return status;
	cpu = &schedule->cpus[index];
	if (now >= schedule->first && now <= schedule->last) {
		schedule->switches++;
		cpu->switches++;
	}
	if (change->is_tracepoint && old < schedule->thread_count)
		name_thread(&schedule->threads[old], &read->values[USAGE_PREV_COMM]);
	if (change->is_tracepoint && new < schedule->thread_count)
		name_thread(&schedule->threads[new], &read->values[USAGE_NEXT_COMM]);
	if (cpu->hint_tid == change->old_tid && cpu->hint_tid != PTL_NO_ID)
		after = cpu->hint;
	cpu->hint_tid = PTL_NO_ID;
	/* The thread has left already, by a report of another form. */
	if (change->old_alone && old < schedule->thread_count && cpu->current < schedule->thread_count &&
	    cpu->current != old && schedule->threads[old].state != USAGE_RUNNING)
		return 0;
	if (new < schedule->thread_count && cpu->current == new &&old != new && schedule->partial)
		return 0;
	/* In a partial trace, the old thread of a thread that enters is unrecorded, or was reported before. */
	if (change->has_old &&
	    (change->is_tracepoint || change->old_alone || !schedule->partial || cpu->current == old))
		status = switch_out(schedule, cpu, now, old, after);
	return status < 0 ? status : switch_in(schedule, cpu, now, new);
}

/* A tracepoint beside switch records gives the state of the thread that leaves next. */
static int take_hint(struct usage_schedule *schedule, const struct usage_switch *change, const struct usage_event *read)
{
	uint32_t index, thread;
	int status = find_cpu(schedule, change->cpu, &index);

	if (status == 0)
		status = usage_thread_find(schedule, change->old_tid, change->old_pid, read->event->time, false,
					   &thread);
	if (status < 0)
		return status;
	if (thread < schedule->thread_count)
		name_thread(&schedule->threads[thread], &read->values[USAGE_PREV_COMM]);
	schedule->cpus[index].hint_tid = change->old_tid;
	schedule->cpus[index].hint = change->old_state;
	return 0;
}

/* ---- wake-ups -------------------------------------------------------------------------------------- */

static int find_waker(struct usage_schedule *schedule, const struct usage_event *read, bool interrupt, uint32_t *waker)
{
	const struct ptl_event *event = read->event;
	int status;

	*waker = USAGE_INTERRUPT;
	if (interrupt)
		return 0;
	status = usage_thread_find(schedule, event->tid, event->pid, event->time, false, waker);
	if (*waker == USAGE_IDLE)
		*waker = USAGE_INTERRUPT;
	return status;
}

/* Adds the sleep to the chain that ends with the thread. */
static int add_chain(struct usage_schedule *schedule, uint32_t number, uint32_t waker, uint64_t since, uint64_t slept)
{
	const struct usage_thread *by = waker < schedule->thread_count ? &schedule->threads[waker] : NULL;
	uint32_t parent = USAGE_NO_CHAIN, chain;
	struct usage_chain *list;
	int status = 0;

	if (by && by->woken_at && by->woken_at >= since && by->chain != USAGE_NO_CHAIN)
		parent = by->chain;
	else
		status = usage_chain_find(&schedule->chains, waker, USAGE_NO_CHAIN, &parent);
	if (status == 0)
		status = usage_chain_find(&schedule->chains, number, parent, &chain);
	if (status < 0)
		return status;
	list = &schedule->chains.list[chain];
	list->count++;
	list->total += slept;
	if (slept > list->longest)
		list->longest = slept;
	schedule->threads[number].chain = chain;
	return 0;
}

static int count_wake(struct usage_schedule *schedule, uint32_t number, uint32_t waker, uint64_t slept)
{
	uint32_t pair;
	const int status = usage_pair_find(&schedule->wakes, waker, number, &pair);

	if (status < 0)
		return status;
	schedule->wakeups++;
	schedule->threads[number].wakes++;
	schedule->threads[number].waker_pair = pair;
	usage_pair_add(&schedule->wakes.list[pair], slept);
	return 0;
}

static int wake(struct usage_schedule *schedule, uint32_t number, uint32_t waker, uint64_t now, bool is_new)
{
	struct usage_thread *thread = &schedule->threads[number];
	const uint64_t since = thread->since;
	const bool known = thread->state != USAGE_UNKNOWN, within = now >= schedule->first && now <= schedule->last;
	uint64_t slept = 0;
	int status;

	if (thread->state == USAGE_RUNNING || thread->state == USAGE_WAITING || thread->state == USAGE_ENDED)
		return 0;
	/* A new thread did not sleep. */
	if (known && !is_new)
		slept = usage_within(schedule, since, now);
	/* No event reports when an unrecorded thread runs. */
	if (schedule->partial && thread->process == FLOW_NONE)
		return within ? count_wake(schedule, number, waker, 0) : 0;
	add_time(schedule, thread, thread->state == USAGE_OFF ? is_new ? USAGE_WAITING : USAGE_SLEEPING : thread->state,
		 now);
	thread->state = USAGE_WAITING;
	thread->ready_at = now;
	thread->waker = waker;
	thread->waker_pair = USAGE_NO_PAIR;
	thread->slept_since = since;
	thread->woken_at = now;
	if (!within)
		return 0;
	status = count_wake(schedule, number, waker, slept);
	return status == 0 && known && !is_new ? add_chain(schedule, number, waker, since, slept) : status;
}

static int take_wake(struct usage_schedule *schedule, const struct usage_event *read)
{
	const bool ready = read->type->kind == USAGE_READY, is_new = read->type->kind == USAGE_WAKE_NEW;
	const struct usage_value *woken = &read->values[ready ? USAGE_READY_THREAD : USAGE_WOKEN];
	const bool interrupt = ready ? read->values[USAGE_READY_FLAG].number & IN_DPC
				     : read->values[USAGE_WAKE_FLAGS].number & IN_INTERRUPT;
	const struct usage_value *success = &read->values[USAGE_WAKE_SUCCESS];
	uint32_t number, waker;
	int status;

	if (!woken->given || (!ready && success->given && !success->number))
		return 0;
	status = usage_thread_find(schedule, usage_machine_id(read->event, woken->number), PTL_NO_ID, read->event->time,
				   is_new, &number);
	if (status == 0)
		status = find_waker(schedule, read, interrupt, &waker);
	if (status < 0 || number >= schedule->thread_count)
		return status;
	if (!ready)
		name_thread(&schedule->threads[number], &read->values[USAGE_WOKEN_COMM]);
	return wake(schedule, number, waker, read->event->time, is_new);
}

/* ---- the trace ------------------------------------------------------------------------------------- */

/* In a partial trace, the first event of a thread on a CPU shows that the thread runs there. */
static int see_running(struct usage_schedule *schedule, const struct ptl_event *event)
{
	const bool kernel = format_class_of(&event->descriptor) != FORMAT_CLASS_NONE;
	uint32_t index, number;
	struct usage_cpu *cpu;
	int status;

	if (kernel || event->cpu == PTL_NO_CPU || event->tid == PTL_NO_ID || !is_recorded(schedule, event->tid))
		return 0;
	status = find_cpu(schedule, event->cpu, &index);
	if (status == 0)
		status = usage_thread_find(schedule, event->tid, event->pid, event->time, false, &number);
	if (status < 0 || number >= schedule->thread_count)
		return status;
	cpu = &schedule->cpus[index];
	/* A wake-up of a recorded thread may be an event of an unrecorded thread. */
	if (cpu->current != USAGE_NOBODY || schedule->threads[number].state != USAGE_UNKNOWN ||
	    schedule->threads[number].cpu != FLOW_NONE || schedule->threads[number].process == FLOW_NONE)
		return 0;
	return switch_in(schedule, cpu, event->time, number);
}

static int schedule_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct usage_schedule *schedule = context;
	struct usage_schedule_state *state = schedule->state;
	struct usage_switch change;
	struct usage_event read;
	bool has_read;
	int status = usage_switch_read(state, trace, event, &read, &has_read, &change);

	if (status < 0)
		return status;
	if (status && change.is_tracepoint == state->by_tracepoints)
		return take_switch(schedule, event, &change, &read);
	if (schedule->partial) {
		const int seen = see_running(schedule, event);

		if (seen < 0)
			return seen;
	}
	if (status)
		return change.is_tracepoint ? take_hint(schedule, &change, &read) : 0;
	return has_read ? take_wake(schedule, &read) : 0;
}

static int compare_cpus(const void *a, const void *b)
{
	const struct usage_cpu *x = a, *y = b;

	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

/* end: of the trace. Events behind the window tell what happened at its end. */
static int finish(struct usage_schedule *schedule, uint64_t end)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < schedule->cpu_count; i++)
		status = end_run(schedule, &schedule->cpus[i], end, true, USAGE_RUNNING);
	/* From here on, no thread refers to a CPU. */
	if (schedule->cpu_count)
		qsort(schedule->cpus, schedule->cpu_count, sizeof(*schedule->cpus), compare_cpus);
	for (size_t i = 0; status == 0 && i < schedule->thread_count; i++) {
		struct usage_thread *thread = &schedule->threads[i];

		if (thread->state == USAGE_ENDED)
			continue;
		if (thread->end < end && thread->state != USAGE_RUNNING) {
			add_time(schedule, thread, thread->state, thread->end);
			thread->state = USAGE_ENDED;
		} else if (thread->state != USAGE_RUNNING) {
			add_time(schedule, thread, thread->state, end);
		}
	}
	return status;
}

static void count_losses(struct usage_schedule *schedule, const struct ptl_trace *trace)
{
	for (size_t i = 0; i < ptl_loss_count(trace); i++)
		if (ptl_loss_at(trace, i)->kind == PTL_LOSS_EVENTS)
			schedule->lost += ptl_loss_at(trace, i)->count;
}

int usage_schedule_read(struct usage_schedule *schedule, const struct analysis_input *input,
			const struct flow_timeline *timeline, usage_slice_function *each, void *context)
{
	const struct analysis_filter *filter = input->filter;
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = schedule_event};
	const uint64_t start = ptl_trace_machine(input->trace)->start_time, end = format_trace_end(input->trace);
	int status;

	*schedule = (struct usage_schedule){
		.first = filter->first_time > start ? filter->first_time : start,
		.last = filter->last_time < end ? filter->last_time : end,
		.state = calloc(1, sizeof(*schedule->state)),
	};
	if (!schedule->state)
		return common_fail_memory("context switches", sizeof(*schedule->state));
	schedule->state->events.types = usage_schedule_types;
	schedule->state->events.type_count = usage_schedule_type_count;
	schedule->state->input = input;
	schedule->state->timeline = timeline;
	schedule->state->each = each;
	schedule->state->context = context;
	count_losses(schedule, input->trace);
	status = usage_tids_make(&schedule->state->tids, timeline);
	if (status == 0)
		status = usage_schedule_survey(schedule, input->trace);
	schedule->begin = schedule->state->first_time;
	if (status == 0 && schedule->state->tracepoints + schedule->state->records)
		status = ptl_process(input->trace, NULL, &callbacks, schedule);
	return status < 0 ? status : finish(schedule, end);
}

static bool is_any(void *context, uint32_t pid, uint32_t tid)
{
	(void)context;
	(void)pid;
	(void)tid;
	return true;
}

bool usage_schedule_possible(const struct ptl_trace *trace, const struct flow_timeline *timeline)
{
	for (size_t i = 0; i < ptl_schema_count(trace); i++)
		if (!strcmp(ptl_schema_at(trace, i)->provider_name, "sched") &&
		    !strcmp(ptl_schema_at(trace, i)->event_name, "sched_switch"))
			return true;
	return flow_timeline_any_switch(timeline, is_any, NULL);
}

void usage_schedule_free(struct usage_schedule *schedule)
{
	struct usage_schedule_state *state = schedule->state;

	if (state) {
		usage_events_free(&state->events);
		common_hash_map_free(&state->by_tid);
		common_hash_map_free(&state->by_cpu);
		common_hash_map_free(&state->own);
		common_hash_map_free(&state->last);
		usage_tids_free(&state->tids);
	}
	free(state);
	free(schedule->threads);
	free(schedule->cpus);
	usage_pairs_free(&schedule->wakes);
	usage_pairs_free(&schedule->ahead);
	usage_chains_free(&schedule->chains);
	*schedule = (struct usage_schedule){.state = NULL};
}
