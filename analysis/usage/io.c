/* SPDX-License-Identifier: BSD-2-Clause */
/* Folds the events of a trace into the sums of input and output. */
#include "analysis/usage/io.h"

#include <stdlib.h>

#include "analysis/usage/io_state.h"
#include "common/error.h"
#include "format/reader/trace_end.h"

#define FINISHED_SHARE 10 /* requests with an end for each request without */

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
		object->busy += usage_io_within(io, object->busy_since, io->last);
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
