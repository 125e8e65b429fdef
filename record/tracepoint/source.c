/* SPDX-License-Identifier: BSD-2-Clause */
/* Has one ring a CPU, into which the kernel writes its events, and turns these on and off. */
#include "record/tracepoint/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/error.h"
#include "common/message.h"
#include "common/vector.h"
#include "import/perf/schemas.h"
#include "record/capture/machine.h"
#include "record/kernel/kernel_code.h"
#include "record/kernel/observer.h"
#include "record/perf/data_ring.h"
#include "record/perf/sideband.h"
#include "record/session/answer.h"
#include "record/session/session.h"
#include "record/tracepoint/event.h"
#include "record/tracepoint/stack.h"
#include "record/tracepoint/flags.h"

#define MILLISECOND 1000000u
#define RING_SIZE ((size_t)4 << 20)
#define RING_LEAST ((size_t)128 << 10) /* what is not worth trying, where less than RING_SIZE is permitted */
#define LOOK_TIME (20 * MILLISECOND)
#define EVENTS_MAX 4096u

struct ring {
	int fd; /* -1: the CPU is switched off */
	struct record_data_ring data;
	uint32_t stream;
};

struct tracepoints {
	struct record_session *session;
	bool all; /* processes, and not the command alone */
	uint32_t flags;
	struct perf_tracing tracing;
	struct tracepoint_event *list; /* those that are turned off, too, of which samples may yet come */
	size_t count, capacity;
	struct common_hash_map ids; /* of samples: index in the list */
	uint64_t last_id;           /* of a sample; 0: none, as ids begin with 1 */
	size_t last_index;          /* that belongs to it */
	struct ring *rings;         /* by CPU; NULL: nothing was turned on so far */
	size_t cpus;
	int64_t clock_offset; /* record_clock_offset() */
	uint64_t lost, unread, corrupt;
	bool schema_written;               /* that of samples */
	bool names_wanted;                 /* of the kernel's functions, of which it was tried to have them */
	struct record_kernel_code *kernel; /* that names them; NULL: nobody, or another source */
	struct ptl_bytes storage;
	struct tracepoint_stacks stacks;
};

/* ---- rings ----------------------------------------------------------------------------------- */

/* Who may lock little memory has a smaller ring, unless its size was asked for. */
static int map_ring(struct ring *ring, size_t wanted)
{
	size_t size = wanted ? wanted : RING_SIZE;
	int status = record_data_ring_map(&ring->data, ring->fd, size);

	while (status < 0 && !wanted && (errno == EPERM || errno == ENOMEM) && size > RING_LEAST) {
		size /= 2;
		status = record_data_ring_map(&ring->data, ring->fd, size);
	}
	return status;
}

static int open_ring(struct tracepoints *state, size_t cpu)
{
	struct ring *ring = &state->rings[cpu];
	const int fd = tracepoint_event_open_ring((int)cpu, state->count && state->list[state->count - 1].dwarf,
						  state->all);
	int status;

	if (fd < 0)
		return fd == PTL_NOT_FOUND ? 0 : fd;
	ring->fd = fd;
	status = map_ring(ring, (size_t)state->session->settings->event_ring);
	if (status == 0)
		status = record_wait_descriptor(&state->session->wait, fd);
	return status < 0 ? status : record_capture_event_stream(&state->session->capture, &ring->stream);
}

/* The whole system's processes have names only if they are reported, too. */
static int open_rings(struct tracepoints *state)
{
	int status = 0;

	if (state->rings)
		return 0;
	state->rings = calloc(state->cpus, sizeof(*state->rings));
	if (!state->rings)
		return common_fail_memory("tracepoints", state->cpus * sizeof(*state->rings));
	for (size_t cpu = 0; cpu < state->cpus; cpu++)
		state->rings[cpu].fd = -1;
	for (size_t cpu = 0; status == 0 && cpu < state->cpus; cpu++)
		status = open_ring(state, cpu);
	if (status == 0 && state->all && state->session->observer)
		status = record_observer_everyone(state->session->observer, &state->session->wait);
	return status;
}

/* ---- turning on and off ---------------------------------------------------------------------- */

static int note_id(struct tracepoints *state, int fd, size_t index)
{
	uint64_t id;

	if (ioctl(fd, PERF_EVENT_IOC_ID, &id) < 0)
		return common_fail_errno("cannot record %s", state->list[index].name);
	return common_hash_map_put(&state->ids, id, index);
}

static void close_event(struct tracepoints *state, struct tracepoint_event *event)
{
	for (size_t cpu = 0; event->fds && cpu < state->cpus; cpu++)
		if (event->fds[cpu] >= 0)
			close(event->fds[cpu]);
	free(event->fds);
	event->fds = NULL;
}

static int open_event(struct tracepoints *state, size_t index)
{
	struct tracepoint_event *event = &state->list[index];
	int status = 0;

	event->fds = malloc(state->cpus * sizeof(*event->fds));
	if (!event->fds)
		return common_fail_memory("tracepoints", state->cpus * sizeof(*event->fds));
	memset(event->fds, -1, state->cpus * sizeof(*event->fds));
	for (size_t cpu = 0; status >= 0 && cpu < state->cpus; cpu++) {
		if (!state->rings[cpu].data.page)
			continue;
		status = tracepoint_event_open(event, (int)cpu, state->rings[cpu].fd, state->all);
		if (status < 0)
			break;
		event->fds[cpu] = status;
		status = note_id(state, event->fds[cpu], index);
	}
	for (size_t cpu = 0; status >= 0 && (state->all || event->everyone) && cpu < state->cpus; cpu++)
		if (event->fds[cpu] >= 0 && ioctl(event->fds[cpu], PERF_EVENT_IOC_ENABLE, 0) < 0)
			status = common_fail_errno("cannot turn %s on", event->name);
	if (status < 0)
		close_event(state, event);
	return status < 0 ? status : 0;
}

/*
 * Stacks have names of the kernel's functions in a trace of one file, which has them once. With its code, they are there already.
 */
static int name_functions(struct tracepoints *state, const struct tracepoint_event *event)
{
	const struct record_settings *settings = state->session->settings;
	const bool named = !strcmp(settings->source, "intel_pt") && settings->pt.code != RECORD_PT_USER;

	if (!event->stack || event->user_only || state->names_wanted || named ||
	    settings->mode != RECORD_MODE_SEQUENTIAL || (settings->embed_given && settings->embed < ELF_EMBED_SYMBOLS))
		return 0;
	state->names_wanted = true;
	return record_kernel_code_open(&state->session->capture, "", RECORD_KERNEL_NAMES, &state->session->wait,
				       &state->kernel);
}

/* "SYSTEM:EVENT", or with " if FILTER" behind it; named: it is no flag that asks for it. */
static int turn_on(struct tracepoints *state, const char *text, bool named)
{
	int status;

	if (state->count == EVENTS_MAX)
		return common_fail(PTL_MISUSE, "a session has at most %u events of the kernel", EVENTS_MAX);
	if (COMMON_VECTOR_RESERVE(state->list, state->capacity, state->count + 1, "tracepoints"))
		return PTL_NO_MEMORY;
	status = tracepoint_event_parse(text, &state->session->settings->stacks, &state->tracing,
					&state->list[state->count]);
	if (status < 0)
		return status;
	state->list[state->count++].named = named;
	status = open_rings(state);
	if (status == 0)
		status = open_event(state, state->count - 1);
	return status < 0 ? status : name_functions(state, &state->list[state->count - 1]);
}

/* Whether it was on; what it has written so far is in the rings. */
static bool turn_off(struct tracepoints *state, const char *name)
{
	bool found = false;

	for (size_t i = 0; i < state->count; i++) {
		if (!state->list[i].fds || !tracepoint_event_is(&state->list[i], name))
			continue;
		close_event(state, &state->list[i]);
		found = true;
	}
	return found;
}

static size_t name_size(const char *text)
{
	const char *filter = strstr(text, TRACEPOINT_FILTER);

	return filter ? (size_t)(filter - text) : strlen(text);
}

static bool is_on(const struct tracepoints *state, const char *name)
{
	for (size_t i = 0; i < state->count; i++)
		if (state->list[i].fds && tracepoint_event_is(&state->list[i], name))
			return true;
	return false;
}

/* What neither --event nor a flag asks for any more. */
static void close_unwanted(struct tracepoints *state)
{
	for (size_t i = 0; i < state->count; i++)
		if (!state->list[i].named && !record_flags_have(state->flags, state->list[i].name))
			close_event(state, &state->list[i]);
}

static int turn_flags_on(struct tracepoints *state, uint32_t flags)
{
	struct common_string_list names = {0};
	int status = record_flags_tracepoints(flags, &names);

	/* Processes of the whole system are reported where no tracepoint is, too. */
	if (status == 0 && flags)
		status = open_rings(state);
	for (size_t i = 0; status == 0 && i < names.count; i++)
		if (!is_on(state, names.list[i]))
			status = turn_on(state, names.list[i], false);
	common_string_list_free(&names);
	if (status == 0)
		state->flags |= flags;
	else
		close_unwanted(state);
	return status;
}

static int refuse_change(void)
{
	return common_fail(PTL_MISUSE, "the kernel's events of a command are those that it was started with");
}

static int turn_flags(void *state_, const char *text, bool on, FILE *notes)
{
	struct tracepoints *state = state_;
	char names[512];
	uint32_t flags = 0;
	int status = state->all ? record_flags_parse(text, &flags) : refuse_change();

	(void)notes;
	if (status < 0)
		return status;
	if (on)
		return turn_flags_on(state, flags);
	record_flags_names(flags & ~state->flags, names, sizeof(names));
	if (names[0])
		return common_fail(PTL_NOT_FOUND, "not turned on: %s; query shows what is", names);
	state->flags &= ~flags;
	close_unwanted(state);
	return 0;
}

/* One that is on is on once, with the filter that was given last. */
static int turn_event(void *state_, const char *text, bool on, FILE *notes)
{
	struct tracepoints *state = state_;
	char *name;
	bool was_on;
	int status;

	(void)notes;
	if (!state->all)
		return refuse_change();
	name = strndup(text, name_size(text));
	if (!name)
		return common_fail_memory("a tracepoint", strlen(text));
	if (on) {
		const size_t before = state->count;

		/* Those that were on go when this one works. */
		status = turn_on(state, text, true);
		for (size_t i = 0; status == 0 && i < before; i++)
			if (tracepoint_event_is(&state->list[i], name))
				close_event(state, &state->list[i]);
	} else {
		was_on = turn_off(state, name);
		status = was_on ? 0 : common_fail(PTL_NOT_FOUND, "%s is not on", name);
	}
	free(name);
	return status;
}

/* ---- opening --------------------------------------------------------------------------------- */

static void close_source(void *state_)
{
	struct tracepoints *state = state_;

	for (size_t i = 0; i < state->count; i++)
		tracepoint_event_free(&state->list[i], state->cpus);
	for (size_t i = 0; state->rings && i < state->cpus; i++) {
		record_data_ring_unmap(&state->rings[i].data);
		if (state->rings[i].fd >= 0)
			close(state->rings[i].fd);
	}
	record_kernel_code_close(state->kernel);
	perf_tracing_free(&state->tracing);
	common_hash_map_free(&state->ids);
	common_bytes_free(&state->storage);
	tracepoint_stacks_free(&state->stacks);
	free(state->list);
	free(state->rings);
	free(state);
}

static int open_source(struct record_session *session, void **result)
{
	const struct common_string_list *wanted = &session->settings->tracepoints;
	struct tracepoints *state = calloc(1, sizeof(*state));
	int status = 0;

	if (!state)
		return common_fail_memory("tracepoints", sizeof(*state));
	state->session = session;
	state->all = !session->has_command;
	state->cpus = (size_t)sysconf(_SC_NPROCESSORS_CONF);
	state->clock_offset = record_clock_offset();
	for (size_t i = 0; status == 0 && i < wanted->count; i++)
		status = turn_on(state, wanted->list[i], true);
	if (status == 0)
		status = turn_flags_on(state, session->settings->flags);
	if (status < 0)
		close_source(state);
	else
		*result = state;
	return status;
}

/* ---- while it runs --------------------------------------------------------------------------- */

/* Whether the process is to be recorded: events of everyone are of others, too. */
static int is_wanted(const struct tracepoints *state, const struct tracepoint_event *of, uint32_t pid, bool *wanted)
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

/* Fields as the schema has them. */
static int make_sample(struct tracepoints *state, const struct tracepoint_event *of,
		       const struct tracepoint_sample *sample, struct ptl_event *event)
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

/* 1: it is made; 0: its bytes are not as its format says. */
static int make_event(struct tracepoints *state, const struct tracepoint_event *of,
		      const struct tracepoint_sample *sample, struct ptl_event *event)
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

static int put_event(struct tracepoints *state, const struct ring *ring, const struct tracepoint_event *of,
		     const struct tracepoint_sample *sample)
{
	struct ptl_extended stack;
	struct ptl_event event;
	bool wanted;
	int status = is_wanted(state, of, sample->pid, &wanted);

	if (status < 0 || !wanted)
		return status;
	status = of->samples ? make_sample(state, of, sample, &event) : make_event(state, of, sample, &event);
	if (status <= 0) {
		state->unread += status == 0;
		return status;
	}
	event.time = sample->time + (uint64_t)state->clock_offset;
	event.cpu = sample->cpu;
	event.pid = sample->pid;
	event.tid = sample->tid;
	status = record_capture_wants(&state->session->capture, &(struct record_origin){.kernel = true}, &event,
				      &wanted);
	if (status < 0 || !wanted)
		return status;
	status = tracepoint_stack_put(&state->stacks, sample, &state->storage, &stack, &event);
	return status < 0 ? status : record_capture_event(&state->session->capture, ring->stream, &event);
}

/* The event whose samples have this id, or NULL; samples of one come together. */
static const struct tracepoint_event *find_event(struct tracepoints *state, uint64_t id)
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

static int take(struct tracepoints *state, const struct ring *ring, const struct perf_event_header *record)
{
	struct tracepoint_sample sample;
	const struct tracepoint_event *of;
	uint64_t number;

	if (record->type == PERF_RECORD_LOST && record->size >= sizeof(*record) + 16) {
		memcpy(&number, (const uint8_t *)record + sizeof(*record) + 8, sizeof(number));
		state->lost += number;
		return 0;
	}
	if (record->type != PERF_RECORD_SAMPLE)
		return 0;
	of = tracepoint_sample_id(record, &number) ? find_event(state, number) : NULL;
	if (!of || !tracepoint_sample_read(of, record, &sample)) {
		state->unread++;
		return 0;
	}
	return put_event(state, ring, of, &sample);
}

static int empty(struct tracepoints *state, struct ring *ring, bool *work)
{
	const uint64_t head = record_data_ring_head(&ring->data);
	const struct perf_event_header *record;
	int status = 0, found;

	while (status == 0 && (found = record_data_ring_next(&ring->data, head, &record)) != 0) {
		*work = true;
		if (found < 0) {
			state->corrupt++;
			break;
		}
		status = take(state, ring, record);
		record_data_ring_taken(&ring->data, record);
	}
	return status;
}

static int drain(void *state_, uint64_t now, bool *work)
{
	struct tracepoints *state = state_;
	int status = 0;

	for (size_t i = 0; status == 0 && state->rings && i < state->cpus; i++)
		if (state->rings[i].data.page)
			status = empty(state, &state->rings[i], work);
	if (status == 0 && state->kernel)
		status = record_kernel_code_step(state->kernel, now - RECORD_SIDEBAND_DELAY);
	return status;
}

static uint64_t due(void *state, uint64_t now)
{
	return ((const struct tracepoints *)state)->rings ? now + LOOK_TIME : UINT64_MAX;
}

static void answer(void *state_, struct record_answer *answer)
{
	const struct tracepoints *state = state_;
	char names[512];

	record_flags_names(state->flags, names, sizeof(names));
	record_answer_number(answer, "Enable flags", "enable_flags", state->flags);
	record_answer_text(answer, "Flags", "flags", names);
	record_answer_list(answer, "Tracepoints", "tracepoints");
	for (size_t i = 0; i < state->count; i++)
		if (state->list[i].fds)
			record_answer_item(answer, state->list[i].name);
	record_answer_list_end(answer);
}

/* ---- the end --------------------------------------------------------------------------------- */

static int lose(const struct tracepoints *state, uint64_t count, const char *cause)
{
	const struct ptl_loss loss = {
		.kind = PTL_LOSS_EVENTS,
		.stream = PTL_NO_ID,
		.pid = PTL_NO_ID,
		.tid = PTL_NO_ID,
		.count = count,
		.cause = cause,
	};

	return count ? record_capture_loss(&state->session->capture, &loss) : 0;
}

static int finish(void *state_, bool alone)
{
	struct tracepoints *state = state_;
	bool work = false;
	int status;

	(void)alone;
	for (size_t i = 0; i < state->count; i++)
		for (size_t cpu = 0; state->list[i].fds && cpu < state->cpus; cpu++)
			if (state->list[i].fds[cpu] >= 0)
				ioctl(state->list[i].fds[cpu], PERF_EVENT_IOC_DISABLE, 0);
	/* All that the kernel has reported. */
	status = drain(state, UINT64_MAX, &work);
	if (status == 0)
		status = lose(state, state->lost, "the kernel wrote tracepoints faster than they could be taken");
	if (status == 0)
		status = lose(
			state, state->stacks.unwinder.gone,
			"stacks of programs that had ended before they were unwound: their innermost address is known");
	if (status == 0)
		status = lose(state, state->corrupt, "a ring of the kernel made no sense: what was in it is skipped");
	return status == 0 ? lose(state, state->unread, "samples of tracepoints that are not as their format says")
			   : status;
}

const struct record_source record_tracepoint_source = {
	.name = "tracepoints",
	.summary = "the kernel's tracepoints",
	.open = open_source,
	.drain = drain,
	.due = due,
	.turn_event = turn_event,
	.turn_flags = turn_flags,
	.answer = answer,
	.finish = finish,
	.close = close_source,
};
