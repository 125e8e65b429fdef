/* SPDX-License-Identifier: BSD-2-Clause */
/* Raw packets and code: writes a trace into memory, which is then decoded like any trace. */
#include "flow/library.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ptl/reader.h>
#include <ptl/writer.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/structure.h"

#define ONLY_ID 1 /* id of the process and its thread */

struct raw {
	const struct ptl_flow_raw *given;
	struct ptl_writer *writer;
	uint32_t events;
	struct ptl_bytes storage; /* payload of the event being written */
};

static int check_memory(const struct ptl_flow_memory *memory, size_t i)
{
	if (!memory->bytes || !memory->size)
		return common_fail(PTL_MISUSE, "memory range %zu is empty", i);
	if (memory->address + (memory->size - 1) < memory->address)
		return common_fail(PTL_MISUSE, "memory range %zu leaves the address space: %llu bytes at 0x%llx", i,
				   (unsigned long long)memory->size, (unsigned long long)memory->address);
	return 0;
}

static int check_raw(const struct ptl_flow_raw *given)
{
	int status = 0;

	if (!given->pt || !given->pt_size)
		return common_fail(PTL_MISUSE, "struct ptl_flow_raw: there are no packets");
	if (given->memory_count && !given->memory)
		return common_fail(PTL_MISUSE, "struct ptl_flow_raw: memory is NULL, but not its count");
	for (size_t i = 0; !status && i < given->memory_count; i++)
		status = check_memory(&given->memory[i], i);
	return status;
}

static int write_machine(const struct raw *raw)
{
	/* A decoder must expect compressed returns, because raw packets do not tell whether returns are compressed. */
	const struct ptl_machine unknown = {
		.source = "raw",
		.architecture = "x86_64",
		.clock = PTL_CLOCK_NONE,
		.mode = 64,
		.return_compression = true,
		.guest_code = PTL_GUEST_CODE_ALL,
	};
	struct ptl_machine machine = raw->given->machine ? *raw->given->machine : unknown;

	if (!machine.mode)
		machine.mode = unknown.mode;
	return ptl_writer_machine(raw->writer, &machine);
}

/* Writes the event, if `status` of the event's encoder is 0. */
static int write_event(struct raw *raw, int status, struct ptl_event *event)
{
	if (!status) {
		event->cpu = PTL_NO_CPU;
		event->pid = ONLY_ID;
		event->tid = ONLY_ID;
		status = ptl_writer_event(raw->writer, raw->events, event);
	}
	common_bytes_free(&raw->storage);
	return status;
}

static int write_process(struct raw *raw)
{
	const struct ptl_process_event process = {
		.unique_key = ONLY_ID,
		.process_id = ONLY_ID,
		.image_file_name = "raw",
		.command_line = "",
	};
	const struct ptl_thread_event thread = {.process_id = ONLY_ID, .thread_id = ONLY_ID, .name = ""};
	struct ptl_event event = {0};
	int status = write_event(raw, ptl_process_encode(&process, PTL_OPCODE_START_RUNDOWN, &raw->storage, &event),
				 &event);

	event = (struct ptl_event){0};
	if (!status)
		status = write_event(raw, ptl_thread_encode(&thread, PTL_OPCODE_START_RUNDOWN, &raw->storage, &event),
				     &event);
	return status;
}

static int write_image(struct raw *raw, const struct ptl_flow_memory *memory)
{
	struct ptl_image_event image = {
		.base = memory->address,
		.size = memory->size,
		.process_id = ONLY_ID,
		.default_base = memory->address,
		.file_name = memory->name ? memory->name : "memory",
		.protection = PROT_READ | PROT_EXEC,
		.has_code = true,
	};
	struct ptl_event event = {0};
	int status = ptl_writer_blob(raw->writer, PTL_BLOB_CODE, memory->bytes, memory->size, image.code);

	if (status)
		return status;
	return write_event(raw, ptl_image_encode(&image, PTL_OPCODE_START_RUNDOWN, &raw->storage, &event), &event);
}

static int write_rundown(struct raw *raw)
{
	struct ptl_stream stream = {.kind = PTL_KIND_EVENTS, .cpu = PTL_NO_CPU, .pid = PTL_NO_ID, .tid = PTL_NO_ID};
	int status = ptl_writer_stream(raw->writer, &stream);

	raw->events = stream.id;
	if (!status)
		status = write_process(raw);
	for (size_t i = 0; !status && i < raw->given->memory_count; i++)
		status = write_image(raw, &raw->given->memory[i]);
	return status;
}

/* Writes the packets. The reader finds the PSBs. */
static int write_packets(struct raw *raw)
{
	struct ptl_stream stream = {.kind = PTL_KIND_PT, .cpu = PTL_NO_CPU, .pid = ONLY_ID, .tid = ONLY_ID};
	int status = ptl_writer_stream(raw->writer, &stream);

	if (!status)
		status = ptl_writer_bytes(raw->writer, stream.id, raw->given->pt, raw->given->pt_size, 0);
	return status;
}

/* Writes the trace to fd, which stays open. */
static int write_trace(const struct ptl_flow_raw *given, int fd)
{
	const struct ptl_writer_options options = {.size = sizeof(options), .store = true, .name = "raw packets"};
	struct raw raw = {.given = given};
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	int status = own < 0 ? common_fail_errno("cannot write raw packets") : 0;

	if (!status) {
		status = ptl_writer_open(own, &options, &raw.writer);
		if (status)
			close(own);
	}
	if (status)
		return status;
	status = write_machine(&raw);
	if (!status)
		status = write_rundown(&raw);
	if (!status)
		status = write_packets(&raw);
	if (!status)
		return ptl_writer_close(raw.writer);
	ptl_writer_abandon(raw.writer);
	return status;
}

static int open_trace(const struct ptl_flow_raw *given, struct ptl_trace **trace)
{
	int fd = memfd_create("raw packets", MFD_CLOEXEC);
	int status = fd < 0 ? common_fail_errno("cannot make a memory file") : write_trace(given, fd);

	if (!status)
		status = ptl_open_fd(fd, "raw packets", NULL, trace);
	if (status && fd >= 0)
		close(fd);
	return status;
}

int ptl_flow_open_raw(const struct ptl_flow_raw *raw, struct ptl_flow **flow)
{
	struct ptl_flow_raw given;
	struct ptl_trace *trace = NULL;
	int status;

	if (flow)
		*flow = NULL;
	if (!raw || !flow)
		return common_fail(PTL_MISUSE, "ptl_flow_open_raw needs packets and a place for the result");
	status = common_structure_take("ptl_flow_raw", raw, &given, sizeof(given));
	if (!status)
		status = check_raw(&given);
	if (!status)
		status = open_trace(&given, &trace);
	if (status)
		return status;
	status = flow_library_open(trace, true, flow);
	if (status)
		ptl_close(trace);
	return status;
}
