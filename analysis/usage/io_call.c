/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls of Linux on descriptors, from the tracepoints of each call or of all calls. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/usage/io_state.h"
#include "common/error.h"
#include "common/text/text.h"

#define NO_DESCRIPTOR UINT64_MAX

enum effect { EFFECT_READ, EFFECT_WRITE, EFFECT_OTHER, EFFECT_OPEN, EFFECT_CLOSE, EFFECT_COPY };

/*
 * Calls on a descriptor, which is the first argument, and calls that make a descriptor. number: of x86-64, for the
 * tracepoints of all calls.
 */
static const struct call {
	const char *name;
	uint64_t number;
	enum effect effect;
} calls[] = {
	{"read", 0, EFFECT_READ},         {"write", 1, EFFECT_WRITE},      {"open", 2, EFFECT_OPEN},
	{"close", 3, EFFECT_CLOSE},       {"pread64", 17, EFFECT_READ},    {"pwrite64", 18, EFFECT_WRITE},
	{"readv", 19, EFFECT_READ},       {"writev", 20, EFFECT_WRITE},    {"dup2", 33, EFFECT_COPY},
	{"sendfile64", 40, EFFECT_WRITE}, {"connect", 42, EFFECT_OTHER},   {"accept", 43, EFFECT_OTHER},
	{"sendto", 44, EFFECT_WRITE},     {"recvfrom", 45, EFFECT_READ},   {"sendmsg", 46, EFFECT_WRITE},
	{"recvmsg", 47, EFFECT_READ},     {"fsync", 74, EFFECT_OTHER},     {"fdatasync", 75, EFFECT_OTHER},
	{"ftruncate", 77, EFFECT_OTHER},  {"creat", 85, EFFECT_OPEN},      {"openat", 257, EFFECT_OPEN},
	{"fallocate", 285, EFFECT_OTHER}, {"accept4", 288, EFFECT_OTHER},  {"dup3", 292, EFFECT_COPY},
	{"preadv", 295, EFFECT_READ},     {"pwritev", 296, EFFECT_WRITE},  {"recvmmsg", 299, EFFECT_OTHER},
	{"syncfs", 306, EFFECT_OTHER},    {"sendmmsg", 307, EFFECT_OTHER}, {"preadv2", 327, EFFECT_READ},
	{"pwritev2", 328, EFFECT_WRITE},  {"openat2", 437, EFFECT_OPEN},
};

static const struct call *call_by_name(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(calls[i].name, name))
			return &calls[i];
	return NULL;
}

static const struct call *call_by_number(uint64_t number)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].number == number)
			return &calls[i];
	return NULL;
}

/* Returns the call of the event; NULL: not on a descriptor. */
static const struct call *call_of(const struct usage_event *read)
{
	static const char enter[] = "sys_enter_", leave[] = "sys_exit_";
	const char *name = read->schema->event_name;

	switch (read->type->kind) {
	case USAGE_SYSTEM_ENTER:
		return call_by_name(name + strlen(enter));
	case USAGE_SYSTEM_EXIT:
		return call_by_name(name + strlen(leave));
	default:
		return read->values[USAGE_RAW_NUMBER].given ? call_by_number(read->values[USAGE_RAW_NUMBER].number)
							    : NULL;
	}
}

/* ---- descriptors ----------------------------------------------------------------------------------- */

static uint64_t descriptor_key(uint32_t process, uint64_t fd)
{
	return (uint64_t)process << 32 | (uint32_t)fd;
}

/* Finds the object of a descriptor: the file by which the process opened the descriptor, or the number. */
static int descriptor_object(struct usage_io *io, uint32_t process, uint64_t fd, uint32_t *object)
{
	const uint64_t *known = common_hash_map_get(&io->state->files, descriptor_key(process, fd));
	char name[48];

	if (known) {
		*object = (uint32_t)*known;
		return 0;
	}
	if (io->processes[process].pid == PTL_NO_ID)
		snprintf(name, sizeof(name), "fd %" PRId32, (int32_t)fd);
	else
		snprintf(name, sizeof(name), "fd %" PRId32 " of %" PRIu32, (int32_t)fd, io->processes[process].pid);
	return usage_io_object(io, USAGE_FILE, name, object);
}

/* Names the descriptor after the file that was opened. Without a name, a former name ends. */
static int name_descriptor(struct usage_io *io, uint32_t process, uint64_t fd, const char *name)
{
	uint32_t object;
	int status;

	common_hash_map_remove(&io->state->files, descriptor_key(process, fd));
	if (!name)
		return 0;
	status = usage_io_object(io, USAGE_FILE, name, &object);
	return status < 0 ? status : common_hash_map_put(&io->state->files, descriptor_key(process, fd), object);
}

/* dup2: the second descriptor is the file of the first. */
static int copy_descriptor(struct usage_io *io, uint32_t process, uint64_t from, uint64_t to)
{
	const uint64_t *known = common_hash_map_get(&io->state->files, descriptor_key(process, from));
	const uint64_t object = known ? *known : 0;

	if (from == to)
		return 0;
	common_hash_map_remove(&io->state->files, descriptor_key(process, to));
	return known ? common_hash_map_put(&io->state->files, descriptor_key(process, to), object) : 0;
}

/* ---- calls ----------------------------------------------------------------------------------------- */

static uint64_t thread_key(const struct ptl_event *event)
{
	return (uint64_t)event->pid << 32 | event->tid;
}

/* Returns the call's descriptor; NULL: the event has none. */
static const struct usage_value *descriptor_of(const struct usage_event *read)
{
	const struct usage_value *values = read->values;

	if (read->type->kind == USAGE_RAW_ENTER)
		return values[USAGE_RAW_ARGUMENTS].given ? &values[USAGE_RAW_ARGUMENTS] : NULL;
	for (unsigned i = USAGE_CALL_FD; i <= USAGE_CALL_OLD_FD; i++)
		if (values[i].given)
			return &values[i];
	return NULL;
}

/* Takes a copy of the file's name, where the event has the name. */
static int take_name(struct usage_io *io, const struct usage_event *read, struct usage_pending *pending)
{
	const struct usage_value *file = &read->values[USAGE_CALL_FILE];
	struct ptl_bytes *text = &io->state->text;

	if (read->type->kind != USAGE_SYSTEM_ENTER || !file->given || !file->size || pending->name)
		return 0;
	text->size = 0;
	usage_value_text(file, text);
	pending->name = strdup(common_text_string(text));
	return pending->name ? 0 : common_fail_memory("names of files", text->size);
}

static bool is_raw(const struct usage_event *read)
{
	return read->type->kind == USAGE_RAW_ENTER || read->type->kind == USAGE_RAW_EXIT;
}

/* Makes the value of `last_call`: the call, and which tracepoint reported the end. */
static uint64_t end_of(const struct call *call, bool raw)
{
	return call->number * 2 + raw;
}

/*
 * A call begins. If the trace has the tracepoints of each call and of all calls, two events report the beginning, and
 * two the end.
 */
static int enter(struct usage_io *io, const struct usage_event *read, const struct call *call)
{
	const uint64_t key = thread_key(read->event);
	const struct usage_value *fd = descriptor_of(read);
	struct usage_pending *pending = usage_pending_find(&io->state->calls, key);
	uint32_t process, object = FLOW_NONE;
	int status;

	if (pending && pending->call == call->number && pending->is_raw != is_raw(read))
		return take_name(io, read, pending);
	io->unended += pending && read->event->time >= io->first;
	status = usage_io_process(io, read->event->pid, read->event->time, &process);
	if (status == 0 && call->effect != EFFECT_OPEN && fd)
		status = descriptor_object(io, process, fd->number, &object);
	if (status < 0)
		return status;
	pending = usage_pending_add(&io->state->calls, key);
	if (!pending)
		return common_fail_memory("system calls", 1);
	pending->process = process;
	pending->object = object;
	pending->since = read->event->time;
	pending->call = call->number;
	pending->is_raw = is_raw(read);
	pending->fd = fd ? fd->number : NO_DESCRIPTOR;
	return take_name(io, read, pending);
}

static enum usage_operation operation_of(const struct call *call)
{
	return call->effect == EFFECT_READ ? USAGE_READ : call->effect == EFFECT_WRITE ? USAGE_WRITE : USAGE_OTHER;
}

/* Applies a successful call to the names of descriptors, and finds the object of a call that opens. */
static int change_names(struct usage_io *io, struct usage_pending *pending, const struct call *call, int64_t result)
{
	int status = 0;

	switch (call->effect) {
	case EFFECT_OPEN:
		if (result >= 0)
			status = name_descriptor(io, pending->process, (uint64_t)result, pending->name);
		if (status == 0 && (pending->name || result < 0))
			return usage_io_object(io, USAGE_FILE,
					       pending->name ? pending->name : "files that did not open",
					       &pending->object);
		return status < 0 ? status
				  : descriptor_object(io, pending->process, (uint64_t)result, &pending->object);
	case EFFECT_CLOSE:
		return result == 0 ? name_descriptor(io, pending->process, pending->fd, NULL) : 0;
	case EFFECT_COPY:
		return result >= 0 ? copy_descriptor(io, pending->process, pending->fd, (uint64_t)result) : 0;
	default:
		return 0;
	}
}

static int leave(struct usage_io *io, const struct usage_event *read, const struct call *call)
{
	const struct ptl_event *event = read->event;
	const int64_t result = (int64_t)read->values[USAGE_EXIT_RESULT].number;
	const uint64_t key = thread_key(event);
	struct usage_pending *pending = usage_pending_find(&io->state->calls, key);
	struct usage_io_done done = {.end = event->time, .failed = result < 0, .operation = operation_of(call)};
	int status;

	if (!pending || pending->call != call->number) {
		const uint64_t *last = common_hash_map_get(&io->state->last_call, key);

		/* The other tracepoint has reported this end. */
		if (last && *last == end_of(call, !is_raw(read)))
			return 0;
		io->unbegun += event->time >= io->first;
		return common_hash_map_put(&io->state->last_call, key, end_of(call, is_raw(read)));
	}
	status = change_names(io, pending, call, result);
	done.process = pending->process;
	done.object = pending->object;
	done.begin = pending->since;
	if (result > 0 && done.operation != USAGE_OTHER)
		done.bytes = (uint64_t)result;
	usage_pending_remove(&io->state->calls, key);
	if (status == 0)
		status = common_hash_map_put(&io->state->last_call, key, end_of(call, is_raw(read)));
	return status < 0 || done.object == FLOW_NONE ? status : usage_io_add(io, &done);
}

int usage_io_call(struct usage_io *io, const struct usage_event *read)
{
	const bool begins = read->type->kind == USAGE_SYSTEM_ENTER || read->type->kind == USAGE_RAW_ENTER;
	const struct call *call = call_of(read);

	if (!call || read->event->tid == PTL_NO_ID)
		return 0;
	return begins ? enter(io, read, call) : leave(io, read, call);
}
