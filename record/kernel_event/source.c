/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the kernel's events from one ring per CPU. */
#include "record/kernel_event/source.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/error.h"
#include "common/program/message.h"
#include "perf/fields.h"
#include "perf/schemas.h"
#include "record/capture/machine.h"
#include "record/kernel_event/flags.h"
#include "record/kernel_event/kernel_events_state.h"
#include "record/kernel_event/switch.h"
#include "record/kernel_event/values.h"
#include "record/observe/observer.h"
#include "record/perf/sideband.h"
#include "record/session/answer.h"

#define MILLISECOND 1000000u
#define LOOK_TIME (20 * MILLISECOND)
#define LOSS_HINT "a larger --event-buffer; or nice -n -15 ptl-record ..., which gets a CPU sooner"
#define LOSS_TIME (1000 * MILLISECOND) /* losses of a CPU within this time are one loss in the trace */

/* ---- opening --------------------------------------------------------------------------------- */

static void kernel_events_close(void *state_)
{
	struct kernel_events *state = state_;

	for (size_t i = 0; i < state->count; i++)
		kernel_event_free(&state->list[i], state->cpus);
	kernel_event_close_rings(state);
	record_kernel_code_close(state->kernel);
	value_probes_free(state->values);
	perf_tracing_free(&state->tracing);
	common_hash_map_free(&state->ids);
	common_bytes_free(&state->storage);
	kernel_event_stacks_free(&state->stacks);
	kernel_event_forget_stacks(state);
	free(state->list);
	free(state);
}

static void say_unused_stack(const struct record_session *session, const char *pattern)
{
	if (session->settings->session_name)
		common_message_note("no event of the kernel that is on matches --stack %s: it is for those that are "
				    "turned on later",
				    pattern);
	else
		common_message_warning("no event of the kernel that is recorded matches --stack %s", pattern);
}

static int kernel_events_open(struct record_session *session, void **result)
{
	const struct common_string_list *wanted = &session->settings->tracepoints, *stacks = &session->settings->stacks;
	struct kernel_events *state = calloc(1, sizeof(*state));
	int status = 0;

	if (!state)
		return common_fail_memory("tracepoints", sizeof(*state));
	state->session = session;
	state->all = !session->has_command;
	state->cpus = (size_t)sysconf(_SC_NPROCESSORS_CONF);
	state->clock_offset = record_clock_offset();
	for (size_t i = 0; status == 0 && i < stacks->count; i++)
		status = kernel_event_add_stack(state, stacks->list[i]);
	for (size_t i = 0; status == 0 && i < wanted->count; i++)
		status = kernel_event_enable_named(state, wanted->list[i]);
	if (status == 0)
		status = kernel_event_enable_flags(state, session->settings->flags);
	if (status == 0 && session->settings->values.count)
		status = kernel_event_values_open(state);
	for (size_t i = 0; status == 0 && i < stacks->count; i++)
		if (!kernel_event_stack_is_used(state, stacks->list[i]))
			say_unused_stack(session, stacks->list[i]);
	if (status < 0)
		kernel_events_close(state);
	else
		*result = state;
	return status;
}

/* ---- while it runs --------------------------------------------------------------------------- */

/* Sets *wanted: the process is recorded. An event for everyone also has samples of other processes. */
static int is_wanted_process(const struct kernel_events *state, const struct kernel_event *of, uint32_t pid,
			     bool *wanted)
{
	struct record_session *session = state->session;

	*wanted = true;
	if (state->all || !of->everyone)
		return 0;
	if (session->observer)
		return record_observer_follows(session->observer, pid, wanted);
	*wanted = record_model_has(session->capture.model, pid);
	return 0;
}

/* Makes an event of a counter sample. The fields are in the order of perf_schema_sample(). */
static int make_sample(struct kernel_events *state, const struct kernel_event *of,
		       const struct kernel_event_sample *sample, struct ptl_event *event)
{
	struct ptl_bytes *storage = &state->storage;
	int status = 0;

	if (!state->schema_written)
		status = record_capture_schema(&state->session->capture, perf_schema_sample());
	state->schema_written = true;
	storage->size = 0;
	common_write_bytes(storage, of->name, strlen(of->name) + 1);
	common_write_le(storage, sample->ip, 8);
	common_write_le(storage, sample->period, 8);
	common_write_le(storage, 0, 8);
	if (storage->failed)
		return common_fail_memory("a sample", storage->size);
	*event = (struct ptl_event){.payload = storage->data, .payload_size = storage->size};
	event->descriptor.provider = perf_provider;
	event->descriptor.id = PERF_RECORD_SAMPLE;
	event->descriptor.level = 4;
	return status < 0 ? status : 1;
}

/* Makes an event of a tracepoint sample. Returns 1, or 0 if the bytes contradict the format. */
static int make_event(struct kernel_events *state, const struct kernel_event *of,
		      const struct kernel_event_sample *sample, struct ptl_event *event)
{
	struct record_capture *capture = &state->session->capture;
	struct perf_tracing_described described;
	int written, status;

	status = perf_tracing_decode(&state->tracing, of->number, sample->raw, sample->raw_size, &state->storage, event,
				     &described);
	if (status <= 0 || !described.is_new)
		return status;
	written = record_capture_schema(capture, described.schema);
	for (size_t i = 0; written == 0 && i < described.map_count; i++)
		written = record_capture_map(capture, &described.maps[i]);
	return written < 0 ? written : status;
}

/*
 * Returns whether a sample counts for this event.
 * An event that replaces another of the same name is on at the same time for a moment: the kernel then writes two
 * samples of one occurrence, newest event first, each with a time of its own. If the newer event leaves the sample to
 * the older event (time before `since`), the older event takes its sample even if that has a time after `until`.
 */
static bool is_its_turn(struct kernel_event_ring *ring, const struct kernel_event *of, uint32_t tid, uint64_t time)
{
	const bool was_left = ring->left_name && ring->left_tid == tid && !of->samples &&
			      kernel_event_is(of, ring->left_name);

	ring->left_name = time < of->since ? of->name : NULL;
	ring->left_tid = tid;
	return time >= of->since && (time < of->until || was_left);
}

static int put_event(struct kernel_events *state, struct kernel_event_ring *ring, const struct kernel_event *of,
		     const struct kernel_event_sample *sample)
{
	struct ptl_extended stack;
	struct ptl_event event;
	bool wanted;
	int status = is_wanted_process(state, of, sample->pid, &wanted);

	if (status < 0 || !wanted)
		return status;
	if (of->values)
		status = value_probes_event(state->values, of->values - 1, sample->raw, sample->raw_size, &event);
	else
		status = of->samples ? make_sample(state, of, sample, &event) : make_event(state, of, sample, &event);
	/* The kernel ran over a place where the function goes on. */
	if (of->values && status == 0)
		return 0;
	status = of->values && status == PTL_CORRUPT ? 0 : status;
	if (status <= 0) {
		state->unread += status == 0;
		return status;
	}
	event.time = sample->time + (uint64_t)state->clock_offset;
	event.cpu = sample->cpu;
	event.pid = sample->pid;
	event.tid = sample->tid;
	if (!is_its_turn(ring, of, event.tid, event.time))
		return 0;
	status = record_capture_wants(&state->session->capture, &(struct record_origin){.kernel = true}, &event,
				      &wanted);
	if (status < 0 || !wanted)
		return status;
	status = kernel_event_stack_put(&state->stacks, sample, &state->storage, &stack, &event);
	return status < 0 ? status : record_capture_event(&state->session->capture, ring->stream, &event);
}

/*
 * Returns the event with this sample id, or NULL. Samples of one event come in a row, so the last event is tried first.
 */
static struct kernel_event *find_event(struct kernel_events *state, uint64_t id)
{
	const uint64_t *index;

	if (state->last_id != id || !id) {
		index = common_hash_map_get(&state->ids, id);
		if (!index)
			return NULL;
		state->last_id = id;
		state->last_index = *index;
	}
	return &state->list[state->last_index];
}

/* Writes the collected records into the trace. */
static int put_records(struct kernel_events *state, struct kernel_event_ring *ring)
{
	const size_t count = state->record_count;

	state->record_count = 0;
	return count ? record_capture_records(&state->session->capture, ring->stream, state->records, count) : 0;
}

/*
 * Returns the format that all samples of the event share, if no sample needs a check of its own; else NULL.
 * The result is computed once per drain.
 */
static const struct format_event_kind *kind_of(const struct kernel_events *state, struct kernel_event *of)
{
	bool is_simple;

	if (of->kind_pass != state->pass) {
		is_simple = !of->samples && !of->values && !of->stack && (state->all || !of->everyone) && !of->since &&
			    of->until == UINT64_MAX && record_capture_takes_records(&state->session->capture);
		of->kind = is_simple ? perf_tracing_kind(&state->tracing, of->number) : NULL;
		of->kind_pass = state->pass;
	}
	return of->kind;
}

/* Collects a sample for a joint write if the event needs no checks. Most samples take this way, which is fast. */
static bool add_record(struct kernel_events *state, struct kernel_event_ring *ring, struct kernel_event *of,
		       const struct perf_event_header *record)
{
	const struct format_event_kind *kind = kind_of(state, of);
	struct kernel_event_sample sample;

	if (!kind || !kernel_event_sample_read(of, record, &sample) || sample.raw_size < kind->record_size)
		return false;
	state->records[state->record_count++] = (struct format_event_record){
		.kind = kind,
		.time = sample.time + (uint64_t)state->clock_offset,
		.context = {sample.cpu, sample.pid, sample.tid},
		.data = sample.raw,
	};
	/* The next sample is from another occurrence than the sample that was left. */
	ring->left_name = NULL;
	return true;
}

static int take_ring_record(struct kernel_events *state, struct kernel_event_ring *ring,
			    const struct perf_event_header *record)
{
	struct kernel_event_sample sample;
	struct perf_fields fields;
	struct kernel_event *of;
	uint64_t number;
	int status;

	if (record->type == PERF_RECORD_LOST) {
		if (perf_fields_read(record->type, record->misc, record + 1, record->size - sizeof(*record), &fields))
			ring->losses.recorded += fields.lost;
		return 0;
	}
	if (record->type == PERF_RECORD_SWITCH) {
		status = put_records(state, ring);
		return status < 0 ? status : kernel_event_switch_take(state, ring, record);
	}
	if (record->type != PERF_RECORD_SAMPLE)
		return 0;
	of = kernel_event_sample_id(record, &number) ? find_event(state, number) : NULL;
	if (of && add_record(state, ring, of, record))
		return state->record_count < KERNEL_EVENT_RECORDS ? 0 : put_records(state, ring);
	status = put_records(state, ring);
	if (status < 0)
		return status;
	if (!of || !kernel_event_sample_read(of, record, &sample)) {
		state->unread++;
		return 0;
	}
	return put_event(state, ring, of, &sample);
}

static int empty(struct kernel_events *state, struct kernel_event_ring *ring, bool *work)
{
	const uint64_t head = record_data_ring_head(&ring->data);
	const struct perf_event_header *record;
	int status = 0, found;

	/* Takes the reported mappings first: samples before head need mappings from before head. */
	if (state->stacks.unwinder.programs)
		status = kernel_event_programs_take(state->stacks.unwinder.programs);
	state->record_count = 0;
	while (status == 0 && (found = record_data_ring_next(&ring->data, head, &record)) != 0) {
		*work = true;
		if (found < 0) {
			state->corrupt++;
			break;
		}
		status = take_ring_record(state, ring, record);
		record_data_ring_taken(&ring->data, record);
		if (!state->record_count)
			record_data_ring_give_back(&ring->data, false);
	}
	if (status == 0)
		status = put_records(state, ring);
	record_data_ring_give_back(&ring->data, true);
	return status;
}

/* ---- losses ---------------------------------------------------------------------------------- */

static int lose_records(const struct kernel_events *state, const struct ptl_loss *where, uint64_t count,
			const char *cause)
{
	struct ptl_loss loss = *where;

	loss.kind = PTL_LOSS_EVENTS;
	loss.pid = loss.tid = PTL_NO_ID;
	loss.count = count;
	loss.cause = cause;
	return count ? record_capture_loss(&state->session->capture, &loss) : 0;
}

/* Sums the losses that open events count for a CPU. */
static uint64_t count_lost(const struct kernel_events *state, size_t cpu)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < state->count; i++)
		if (state->list[i].fds && state->list[i].fds[cpu] >= 0)
			sum += record_perf_event_lost(state->list[i].fds[cpu]);
	return sum;
}

/*
 * Writes the losses since the last report. whole: also losses without PERF_RECORD_LOST, which costs a system call per
 * event.
 */
static int report_losses(struct kernel_events *state, bool whole)
{
	const uint64_t now = record_now();
	uint64_t lost;
	int status = 0;

	for (size_t cpu = 0; status == 0 && state->rings && cpu < state->cpus; cpu++) {
		struct kernel_event_ring *ring = &state->rings[cpu];
		const struct ptl_loss where = {.stream = ring->stream, .first_time = ring->looked, .last_time = now};

		if (!ring->data.page || (!whole && now - ring->looked < LOSS_TIME))
			continue;
		lost = record_perf_losses_take(&ring->losses, whole ? count_lost(state, cpu) : 0);
		status = lose_records(state, &where, lost,
				      "the kernel wrote tracepoints faster than they could be taken");
		if (lost)
			state->session->capture.losses.hint = LOSS_HINT;
		ring->looked = now;
	}
	return status;
}

/* ---- taking ---------------------------------------------------------------------------------- */

static int kernel_events_drain(void *state_, uint64_t now, bool *work)
{
	struct kernel_events *state = state_;
	int status = 0;

	state->pass++;
	for (size_t i = 0; status == 0 && state->rings && i < state->cpus; i++)
		if (state->rings[i].data.page)
			status = empty(state, &state->rings[i], work);
	if (status == 0)
		status = report_losses(state, false);
	if (status == 0 && state->kernel)
		status = record_kernel_code_step(state->kernel, now - RECORD_SIDEBAND_DELAY);
	return status;
}

static uint64_t kernel_events_due(void *state, uint64_t now)
{
	return ((const struct kernel_events *)state)->rings ? now + LOOK_TIME : UINT64_MAX;
}

static void kernel_events_answer(void *state_, struct record_answer *answer)
{
	const struct kernel_events *state = state_;
	char names[512];

	record_flags_names(state->flags, names, sizeof(names));
	record_answer_number(answer, "Enable flags", "enable_flags", RECORD_ANSWER_NUMBER, state->flags);
	record_answer_text(answer, "Flags", "flags", names);
	record_answer_list(answer, "Tracepoints", "tracepoints");
	for (size_t i = 0; i < state->count; i++)
		if (state->list[i].fds)
			record_answer_item(answer, state->list[i].name);
	record_answer_list_end(answer);
	record_answer_list(answer, "Stacks", "stacks");
	for (size_t i = 0; i < state->stack_patterns.count; i++)
		record_answer_item(answer, state->stack_patterns.list[i]);
	record_answer_list_end(answer);
}

/* ---- the end --------------------------------------------------------------------------------- */

static int kernel_events_finish(void *state_, bool alone)
{
	const struct ptl_loss nowhere = {.stream = PTL_NO_ID};
	struct kernel_events *state = state_;
	bool work = false;
	int status;

	(void)alone;
	for (size_t i = 0; i < state->count; i++)
		for (size_t cpu = 0; state->list[i].fds && cpu < state->cpus; cpu++)
			if (state->list[i].fds[cpu] >= 0)
				ioctl(state->list[i].fds[cpu], PERF_EVENT_IOC_DISABLE, 0);
	if (state->values)
		value_probes_finish(state->values);
	/* UINT64_MAX: all reports of the kernel are due. */
	status = kernel_events_drain(state, UINT64_MAX, &work);
	if (status == 0)
		status = report_losses(state, true);
	if (status == 0)
		status = lose_records(
			state, &nowhere, state->stacks.unwinder.gone,
			"stacks of programs that had ended before they were unwound: their innermost address is known");
	if (status == 0)
		status = lose_records(state, &nowhere, state->corrupt,
				      "a ring of the kernel made no sense: what was in it is skipped");
	return status == 0 ? lose_records(state, &nowhere, state->unread,
					  "samples of tracepoints that are not as their format says")
			   : status;
}

const struct record_source record_tracepoint_source = {
	.name = "tracepoints",
	.summary = "the kernel's tracepoints",
	.open = kernel_events_open,
	.drain = kernel_events_drain,
	.due = kernel_events_due,
	.turn_event = kernel_event_change,
	.turn_flags = kernel_event_change_flags,
	.turn_stack = kernel_event_change_stack,
	.answer = kernel_events_answer,
	.finish = kernel_events_finish,
	.close = kernel_events_close,
};
