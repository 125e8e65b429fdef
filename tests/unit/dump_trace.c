/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes small traces in memory, through the writer and the reader, for tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/dump_trace.h"

void dump_trace_start(struct dump_trace *made, const struct ptl_machine *machine)
{
	struct ptl_stream events = {
		.kind = PTL_KIND_EVENTS,
		.cpu = PTL_NO_CPU,
		.pid = PTL_NO_ID,
		.tid = PTL_NO_ID,
	};

	*made = (struct dump_trace){.fd = memfd_create("trace", MFD_CLOEXEC)};
	assert_true(made->fd >= 0);
	assert_int_equal(ptl_writer_open(dup(made->fd), NULL, &made->writer), 0);
	assert_int_equal(ptl_writer_machine(made->writer, machine), 0);
	assert_int_equal(ptl_writer_stream(made->writer, &events), 0);
	made->events = events.id;
}

void dump_trace_event(struct dump_trace *made, struct ptl_event *event, uint64_t time)
{
	event->time = time;
	event->cpu = PTL_NO_CPU;
	event->pid = event->tid = PTL_NO_ID;
	assert_int_equal(ptl_writer_event(made->writer, made->events, event), 0);
	common_bytes_free(&made->storage);
}

void dump_trace_process(struct dump_trace *made, uint64_t time, uint8_t opcode, const struct ptl_process_event *data)
{
	struct ptl_event event = {0};

	assert_int_equal(ptl_process_encode(data, opcode, &made->storage, &event), 0);
	dump_trace_event(made, &event, time);
}

void dump_trace_thread(struct dump_trace *made, uint64_t time, uint8_t opcode, uint32_t pid, uint32_t tid)
{
	const struct ptl_thread_event data = {.process_id = pid, .thread_id = tid, .name = ""};
	struct ptl_event event = {0};

	assert_int_equal(ptl_thread_encode(&data, opcode, &made->storage, &event), 0);
	dump_trace_event(made, &event, time);
}

void dump_trace_image(struct dump_trace *made, uint64_t time, uint8_t opcode, const struct ptl_image_event *data)
{
	struct ptl_event event = {0};

	assert_int_equal(ptl_image_encode(data, opcode, &made->storage, &event), 0);
	dump_trace_event(made, &event, time);
}

void dump_trace_load(struct dump_trace *made, uint64_t time, uint32_t pid, const char *name, uint64_t base,
		     uint64_t size, const void *code, size_t code_size)
{
	struct ptl_image_event data = {
		.base = base,
		.size = size,
		.process_id = pid,
		.file_name = name,
		.protection = PROT_READ | PROT_EXEC,
		.has_code = code != NULL,
	};

	if (code)
		assert_int_equal(ptl_writer_blob(made->writer, PTL_BLOB_CODE, code, code_size, data.code), 0);
	dump_trace_image(made, time, PTL_OPCODE_LOAD, &data);
}

void dump_trace_unload(struct dump_trace *made, uint64_t time, uint32_t pid, uint64_t base, uint64_t size)
{
	const struct ptl_image_event data = {
		.base = base,
		.size = size,
		.process_id = pid,
		.file_name = "",
	};

	dump_trace_image(made, time, PTL_OPCODE_UNLOAD, &data);
}

void dump_trace_code(struct dump_trace *made, uint64_t time, uint32_t pid, uint64_t base, uint64_t size,
		     const void *code, size_t code_size)
{
	struct ptl_code_event data = {.process_id = pid, .base = base, .size = size};
	struct ptl_event event = {0};

	assert_int_equal(ptl_writer_blob(made->writer, PTL_BLOB_CODE, code, code_size, data.code), 0);
	assert_int_equal(ptl_code_encode(&data, &made->storage, &event), 0);
	dump_trace_event(made, &event, time);
}

uint32_t dump_trace_stream(struct dump_trace *made, uint32_t pid, uint32_t tid)
{
	struct ptl_stream stream = {.kind = PTL_KIND_PT, .cpu = PTL_NO_CPU, .pid = pid, .tid = tid};

	assert_int_equal(ptl_writer_stream(made->writer, &stream), 0);
	return stream.id;
}

struct ptl_trace *dump_trace_finish(struct dump_trace *made)
{
	struct ptl_trace *trace = NULL;

	assert_int_equal(ptl_writer_close(made->writer), 0);
	assert_int_equal(ptl_open_fd(made->fd, "test", NULL, &trace), 0);
	assert_int_equal(ptl_damage_count(trace), 0);
	return trace;
}
