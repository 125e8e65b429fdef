/* SPDX-License-Identifier: BSD-2-Clause */
#include "analysis/usage/io.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/usage/io_state.h"
#include "common/bytes.h"
#include "common/error.h"
#include "common/vector.h"
#include "format/reader/trace_end.h"

#define FINISHED_SHARE 10 /* requests with an end for each request without */

const char *const usage_medium_names[USAGE_MEDIA] = {
	[USAGE_DISK] = "disk",     [USAGE_DISK_FILE] = "file-on-disk", [USAGE_FILE] = "file",
	[USAGE_SOCKET] = "socket", [USAGE_INTERFACE] = "interface",
};

/* ---- processes and objects ------------------------------------------------------------------------- */

int usage_io_process(struct usage_io *io, uint32_t pid, uint64_t time, uint32_t *process)
{
	const uint32_t index = pid == PTL_NO_ID ? FLOW_NONE : flow_timeline_process_at(io->state->timeline, pid, time);
	const uint64_t key = (uint64_t)pid << 32 | index, *known = common_hash_map_get(&io->state->by_process, key);

	if (known) {
		*process = (uint32_t)*known;
		return 0;
	}
	if (COMMON_VECTOR_RESERVE(io->processes, io->process_capacity, io->process_count + 1, "processes"))
		return PTL_NO_MEMORY;
	*process = (uint32_t)io->process_count;
	io->processes[io->process_count++] = (struct usage_io_process){pid, index};
	return common_hash_map_put(&io->state->by_process, key, *process);
}

int usage_io_process_of(struct usage_io *io, const struct ptl_event *event, uint64_t tid, uint32_t *process)
{
	const struct flow_timeline_thread *thread = usage_tids_find(&io->state->tids, usage_machine_id(event, tid),
								    event->time, NULL);

	return usage_io_process(io, thread ? thread->pid : event->pid, event->time, process);
}

int usage_io_object(struct usage_io *io, enum usage_medium medium, const char *name, uint32_t *object)
{
	struct ptl_bytes key = {0};
	const uint64_t *known;
	char *copy;
	int status;

	common_write_le(&key, medium, 1);
	common_write_bytes(&key, name, strlen(name));
	if (key.failed)
		return common_fail_memory("names of files", strlen(name));
	known = common_byte_map_get(&io->state->by_object, key.data, key.size);
	if (known) {
		*object = (uint32_t)*known;
		common_bytes_free(&key);
		return 0;
	}
	copy = strdup(name);
	*object = (uint32_t)io->object_count;
	status = copy ? COMMON_VECTOR_RESERVE(io->objects, io->object_capacity, io->object_count + 1, "files")
		      : common_fail_memory("names of files", strlen(name));
	if (status == 0)
		status = common_byte_map_put(&io->state->by_object, key.data, key.size, *object);
	common_bytes_free(&key);
	if (status < 0) {
		free(copy);
		return status;
	}
	io->objects[io->object_count++] = (struct usage_io_object){.medium = medium, .name = copy};
	return 0;
}

/* ---- sums ------------------------------------------------------------------------------------------ */

void usage_io_sum_add(struct usage_io_sum *to, const struct usage_io_sum *sum)
{
	for (unsigned i = 0; i < USAGE_OPERATIONS; i++) {
		to->count[i] += sum->count[i];
		to->bytes[i] += sum->bytes[i];
	}
	to->errors += sum->errors;
	to->timed += sum->timed;
	to->time += sum->time;
	to->unfinished += sum->unfinished;
	to->unfinished_time += sum->unfinished_time;
	if (sum->longest > to->longest) {
		to->longest = sum->longest;
		to->longest_at = sum->longest_at;
	}
}

uint64_t usage_io_operations(const struct usage_io_sum *sum)
{
	return sum->count[USAGE_READ] + sum->count[USAGE_WRITE] + sum->count[USAGE_OTHER];
}

static int find_use(struct usage_io *io, uint32_t process, uint32_t object, struct usage_io_sum **sum)
{
	const uint64_t key = (uint64_t)process << 32 | object, *known = common_hash_map_get(&io->state->by_use, key);

	if (known) {
		*sum = &io->uses[*known].sum;
		return 0;
	}
	if (COMMON_VECTOR_RESERVE(io->uses, io->use_capacity, io->use_count + 1, "files"))
		return PTL_NO_MEMORY;
	io->uses[io->use_count] = (struct usage_io_use){.process = process, .object = object};
	*sum = &io->uses[io->use_count].sum;
	return common_hash_map_put(&io->state->by_use, key, io->use_count++);
}

/* Returns the part of [from, to] within the window, in nanoseconds. */
static uint64_t io_within(const struct usage_io *io, uint64_t from, uint64_t to)
{
	const uint64_t first = from > io->first ? from : io->first, last = to < io->last ? to : io->last;

	return last > first ? last - first : 0;
}

int usage_io_add(struct usage_io *io, const struct usage_io_done *done)
{
	struct usage_io_sum *sum;
	int status;

	if (done->end < io->first || done->end > io->last)
		return 0;
	status = find_use(io, done->process, done->object, &sum);
	if (status < 0)
		return status;
	sum->count[done->operation]++;
	sum->bytes[done->operation] += done->bytes;
	sum->errors += done->failed;
	if (!done->begin || done->begin > done->end)
		return 0;
	sum->timed++;
	sum->time += io_within(io, done->begin, done->end);
	if (done->end - done->begin > sum->longest) {
		sum->longest = done->end - done->begin;
		sum->longest_at = done->end;
	}
	return 0;
}

int usage_io_add_unfinished(struct usage_io *io, const struct usage_pending *pending)
{
	struct usage_io_sum *sum;
	int status;

	if (pending->since > io->last)
		return 0;
	status = find_use(io, pending->process, pending->object, &sum);
	if (status < 0)
		return status;
	sum->unfinished++;
	sum->unfinished_time += io_within(io, pending->since, io->last);
	return 0;
}

/* ---- operations that have not ended ---------------------------------------------------------------- */

struct usage_pending *usage_pending_add(struct usage_pendings *pendings, uint64_t key)
{
	struct usage_pending *known = usage_pending_find(pendings, key);
	size_t at;

	if (known) {
		free(known->name);
		*known = (struct usage_pending){.active = true};
		return known;
	}
	if (COMMON_VECTOR_RESERVE(pendings->free, pendings->free_capacity, pendings->count + 1, "operations") ||
	    COMMON_VECTOR_RESERVE(pendings->list, pendings->capacity, pendings->count + 1, "operations"))
		return NULL;
	at = pendings->free_count ? pendings->free[pendings->free_count - 1] : pendings->count;
	if (common_hash_map_put(&pendings->index, key, at) < 0)
		return NULL;
	if (pendings->free_count)
		pendings->free_count--;
	else
		pendings->count++;
	pendings->list[at] = (struct usage_pending){.active = true};
	return &pendings->list[at];
}

struct usage_pending *usage_pending_find(const struct usage_pendings *pendings, uint64_t key)
{
	const uint64_t *known = common_hash_map_get(&pendings->index, key);

	return known ? &pendings->list[*known] : NULL;
}

void usage_pending_remove(struct usage_pendings *pendings, uint64_t key)
{
	const uint64_t *known = common_hash_map_get(&pendings->index, key);
	struct usage_pending *pending = known ? &pendings->list[*known] : NULL;

	if (!pending)
		return;
	pendings->free[pendings->free_count++] = (size_t)*known;
	free(pending->name);
	pending->name = NULL;
	pending->active = false;
	common_hash_map_remove(&pendings->index, key);
}

void usage_pendings_free(struct usage_pendings *pendings)
{
	for (size_t i = 0; i < pendings->count; i++)
		free(pendings->list[i].name);
	common_hash_map_free(&pendings->index);
	free(pendings->list);
	free(pendings->free);
	*pendings = (struct usage_pendings){.count = 0};
}

/* ---- the trace ------------------------------------------------------------------------------------- */

static int io_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct usage_io *io = context;
	struct usage_event read;
	const int status = usage_event_read(&io->state->events, trace, event, &read);

	if (status <= 0 || event->time > io->last)
		return status < 0 ? status : 0;
	io->events += event->time >= io->first;
	switch ((enum usage_io_kind)read.type->kind) {
	case USAGE_BLOCK_INSERT:
	case USAGE_BLOCK_ISSUE:
	case USAGE_BLOCK_COMPLETE:
		return usage_io_block(io, &read);
	case USAGE_SYSTEM_ENTER:
	case USAGE_SYSTEM_EXIT:
	case USAGE_RAW_ENTER:
	case USAGE_RAW_EXIT:
		return usage_io_call(io, &read);
	case USAGE_PAGE_CACHE:
		return usage_io_page_cache(io, &read);
	case USAGE_SOCKET_STATE:
	case USAGE_SOCKET_SEND:
	case USAGE_SOCKET_RECEIVE:
	case USAGE_INTERFACE_SEND:
	case USAGE_INTERFACE_RECEIVE:
		return usage_io_network(io, &read);
	default:
		return usage_io_windows(io, &read);
	}
}

static int finish_pendings(struct usage_io *io, const struct usage_pendings *pendings)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < pendings->count; i++)
		if (pendings->list[i].active && !pendings->list[i].waits && pendings->list[i].object != FLOW_NONE)
			status = usage_io_add_unfinished(io, &pendings->list[i]);
	return status;
}

/*
 * Ends the busy time of a disk. Without most ends of requests, as in the recording of a command, the busy time is
 * unknown.
 */
static void end_busy(const struct usage_io *io, struct usage_io_object *object)
{
	if (object->in_flight > object->finished / FINISHED_SHARE)
		object->has_busy = false;
	else if (object->in_flight)
		object->busy += io_within(io, object->busy_since, io->last);
	if (!object->has_busy)
		object->busy = 0;
}

static int io_finish(struct usage_io *io)
{
	int status = finish_pendings(io, &io->state->requests);

	if (status == 0)
		status = finish_pendings(io, &io->state->calls);
	if (status == 0)
		status = finish_pendings(io, &io->state->irps);
	for (size_t i = 0; i < io->object_count; i++)
		end_busy(io, &io->objects[i]);
	return status;
}

int usage_io_read(struct usage_io *io, const struct analysis_input *input, const struct flow_timeline *timeline)
{
	const struct analysis_filter *filter = input->filter;
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = io_event};
	const uint64_t start = ptl_trace_machine(input->trace)->start_time, end = format_trace_end(input->trace);
	struct ptl_event_filter times = {.size = sizeof(times)};
	int status;

	*io = (struct usage_io){
		.first = filter->first_time > start ? filter->first_time : start,
		.last = filter->last_time < end ? filter->last_time : end,
		.state = calloc(1, sizeof(*io->state)),
	};
	if (!io->state)
		return common_fail_memory("input and output", sizeof(*io->state));
	times.last_time = io->last;
	io->state->events.types = usage_io_types;
	io->state->events.type_count = usage_io_type_count;
	io->state->input = input;
	io->state->timeline = timeline;
	for (size_t i = 0; i < ptl_loss_count(input->trace); i++)
		if (ptl_loss_at(input->trace, i)->kind == PTL_LOSS_EVENTS)
			io->lost += ptl_loss_at(input->trace, i)->count;
	status = usage_tids_make(&io->state->tids, timeline);
	if (status == 0)
		status = ptl_process(input->trace, &times, &callbacks, io);
	return status < 0 ? status : io_finish(io);
}

void usage_io_free(struct usage_io *io)
{
	struct usage_io_state *state = io->state;

	if (state) {
		usage_events_free(&state->events);
		usage_tids_free(&state->tids);
		common_hash_map_free(&state->by_process);
		common_byte_map_free(&state->by_object);
		common_hash_map_free(&state->by_use);
		common_byte_map_free(&state->images);
		common_hash_map_free(&state->devices);
		usage_pendings_free(&state->requests);
		usage_pendings_free(&state->flushes);
		usage_pendings_free(&state->calls);
		usage_pendings_free(&state->irps);
		common_hash_map_free(&state->last_call);
		common_hash_map_free(&state->files);
		common_hash_map_free(&state->sockets);
		common_bytes_free(&state->text);
	}
	free(state);
	for (size_t i = 0; i < io->object_count; i++)
		free(io->objects[i].name);
	free(io->processes);
	free(io->objects);
	free(io->uses);
	*io = (struct usage_io){.state = NULL};
}
