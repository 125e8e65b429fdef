/* SPDX-License-Identifier: BSD-2-Clause */
/* Disks, files and sockets of Windows. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/event/value.h"
#include "analysis/usage/io_state.h"
#include "common/error.h"
#include "common/text/text.h"

#define SECOND 1000000000u

/* ---- disks ----------------------------------------------------------------------------------------- */

/* Converts a duration in ticks of the performance counter; 0: unknown. */
static uint64_t nanoseconds(const struct usage_io *io, uint64_t ticks)
{
	const uint64_t frequency = io->state->frequency;

	if (!frequency || ticks / frequency >= UINT64_MAX / SECOND / 2)
		return 0;
	return ticks / frequency * SECOND + (uint64_t)((double)(ticks % frequency) * SECOND / (double)frequency);
}

/* Counts the request under its file, too, if the event names the file. */
static int add_file(struct usage_io *io, const struct usage_value *name, struct usage_io_done *done)
{
	struct ptl_bytes *text = &io->state->text;
	int status;

	text->size = 0;
	usage_value_text(name, text);
	if (!text->size)
		return 0;
	status = usage_io_object(io, USAGE_DISK_FILE, common_text_string(text), &done->object);
	return status < 0 ? status : usage_io_add(io, done);
}

static int disk(struct usage_io *io, const struct usage_event *read)
{
	const struct usage_value *values = read->values;
	const uint32_t kind = read->type->kind;
	const uint64_t took = nanoseconds(io, values[USAGE_DISK_TIME].number);
	struct usage_io_done done = {
		.operation = kind == USAGE_WINDOWS_DISK_READ    ? USAGE_READ
			     : kind == USAGE_WINDOWS_DISK_WRITE ? USAGE_WRITE
								: USAGE_OTHER,
		.bytes = values[USAGE_DISK_SIZE].number,
		.begin = took && took < read->event->time ? read->event->time - took : 0,
		.end = read->event->time,
	};
	char name[32];
	int status;

	snprintf(name, sizeof(name), "disk %" PRIu64, values[USAGE_DISK_NUMBER].number);
	status = usage_io_object(io, USAGE_DISK, name, &done.object);
	if (status == 0 && values[USAGE_DISK_THREAD].given)
		status = usage_io_process_of(io, read->event, values[USAGE_DISK_THREAD].number, &done.process);
	else if (status == 0)
		status = usage_io_process(io, read->event->pid, done.end, &done.process);
	if (status == 0)
		status = usage_io_add(io, &done);
	return status < 0 ? status : add_file(io, &values[USAGE_DISK_NAME], &done);
}

/* A page that a thread waited for. */
static int fault(struct usage_io *io, const struct usage_event *read)
{
	struct usage_io_done done = {
		.operation = USAGE_READ,
		.bytes = read->values[USAGE_FAULT_SIZE].number,
		.begin = read->values[USAGE_FAULT_START].number,
		.end = read->event->time,
	};
	struct ptl_bytes *text = &io->state->text;
	int status = usage_io_process_of(io, read->event, read->values[USAGE_FAULT_THREAD].number, &done.process);

	text->size = 0;
	common_text_add(text, "page fault: ");
	usage_value_text(&read->values[USAGE_FAULT_NAME], text);
	if (status == 0)
		status = usage_io_object(io, USAGE_FILE, common_text_string(text), &done.object);
	return status < 0 ? status : usage_io_add(io, &done);
}

/* ---- files ----------------------------------------------------------------------------------------- */

static enum usage_operation file_operation(uint32_t kind)
{
	return kind == USAGE_WINDOWS_FILE_READ    ? USAGE_READ
	       : kind == USAGE_WINDOWS_FILE_WRITE ? USAGE_WRITE
						  : USAGE_OTHER;
}

static int begin_file(struct usage_io *io, const struct usage_event *read)
{
	const struct usage_value *values = read->values;
	struct ptl_bytes *text = &io->state->text;
	struct usage_pending *pending;
	uint32_t process, object;
	int status = values[USAGE_FILE_THREAD].given
			     ? usage_io_process_of(io, read->event, values[USAGE_FILE_THREAD].number, &process)
			     : usage_io_process(io, read->event->pid, read->event->time, &process);

	text->size = 0;
	usage_value_text(&values[values[USAGE_FILE_PATH].given ? USAGE_FILE_PATH : USAGE_FILE_NAME], text);
	if (status == 0)
		status = usage_io_object(io, USAGE_FILE, text->size ? common_text_string(text) : "unnamed files",
					 &object);
	if (status < 0)
		return status;
	pending = usage_pending_add(&io->state->irps, values[USAGE_FILE_IRP].number);
	if (!pending)
		return common_fail_memory("operations", 1);
	pending->process = process;
	pending->object = object;
	pending->operation = file_operation(read->type->kind);
	pending->bytes = pending->operation == USAGE_OTHER ? 0 : values[USAGE_FILE_SIZE].number;
	pending->since = read->event->time;
	return 0;
}

static int end_file(struct usage_io *io, const struct usage_event *read)
{
	const uint64_t irp = read->values[USAGE_FILE_IRP].number;
	const struct usage_pending *pending = usage_pending_find(&io->state->irps, irp);
	struct usage_io_done done = {.end = read->event->time};

	if (!pending) {
		io->unbegun += done.end >= io->first;
		return 0;
	}
	done.process = pending->process;
	done.object = pending->object;
	done.operation = pending->operation;
	done.bytes = pending->bytes;
	done.begin = pending->since;
	/* A status of errors has the two highest bits. */
	done.failed = (uint32_t)read->values[USAGE_FILE_STATUS].number >> 30 == 3;
	usage_pending_remove(&io->state->irps, irp);
	return usage_io_add(io, &done);
}

/* ---- sockets --------------------------------------------------------------------------------------- */

static void add_value(struct ptl_bytes *text, const struct usage_event *read, unsigned which)
{
	const struct usage_value *value = &read->values[which];
	const struct ptl_value shown = {
		.field = value->field, .bytes = value->bytes, .size = value->size, .u = value->number};
	struct analysis_values values = {.schema = read->schema};

	if (value->given)
		analysis_text_value(text, &values, &shown, false);
	common_bytes_free(&values.scratch);
}

/* Appends "192.0.2.1:443", or "[2001:db8::1]:443". */
static void add_end(struct ptl_bytes *text, const struct usage_event *read, unsigned address, unsigned port)
{
	struct ptl_bytes words = {0};
	bool ipv6;

	add_value(&words, read, address);
	ipv6 = strchr(common_text_string(&words), ':') != NULL;
	common_text_format(text, ipv6 ? "[%s]:" : "%s:", common_text_string(&words));
	add_value(text, read, port);
	common_bytes_free(&words);
}

static int packet(struct usage_io *io, const struct usage_event *read)
{
	struct ptl_bytes *text = &io->state->text;
	struct usage_io_done done = {
		.operation = read->type->kind == USAGE_WINDOWS_SEND ? USAGE_WRITE : USAGE_READ,
		.bytes = read->values[USAGE_TCP_SIZE].number,
		.end = read->event->time,
	};
	const uint32_t pid = read->values[USAGE_TCP_PID].given
				     ? usage_machine_id(read->event, read->values[USAGE_TCP_PID].number)
				     : read->event->pid;
	int status = usage_io_process(io, pid, done.end, &done.process);

	text->size = 0;
	add_end(text, read, USAGE_TCP_SADDR, USAGE_TCP_SPORT);
	common_text_add(text, " > ");
	add_end(text, read, USAGE_TCP_DADDR, USAGE_TCP_DPORT);
	if (status == 0)
		status = usage_io_object(io, USAGE_SOCKET, common_text_string(text), &done.object);
	return status < 0 ? status : usage_io_add(io, &done);
}

int usage_io_windows(struct usage_io *io, const struct usage_event *read)
{
	switch (read->type->kind) {
	case USAGE_WINDOWS_CLOCK:
		io->state->frequency = read->values[USAGE_CLOCK_FREQUENCY].number;
		io->events -= io->events > 0;
		return 0;
	case USAGE_WINDOWS_DISK_READ:
	case USAGE_WINDOWS_DISK_WRITE:
	case USAGE_WINDOWS_DISK_FLUSH:
		return disk(io, read);
	case USAGE_WINDOWS_FAULT:
		return fault(io, read);
	case USAGE_WINDOWS_FILE_END:
		return end_file(io, read);
	case USAGE_WINDOWS_SEND:
	case USAGE_WINDOWS_RECEIVE:
		return packet(io, read);
	default:
		return begin_file(io, read);
	}
}
