/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adds context switches, wake-ups, requests and system calls of any order up. The laws of the sums hold: busy, idle and
 * unknown time of a CPU are the window; the running times of threads are the busy times of CPUs; the states of a thread
 * are at most the window; and the time of an operation ends within the window.
 * Input: records of six bytes: kind, time since the last event, CPU, thread, and two values.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ptl/kernel.h>
#include <ptl/reader.h>
#include <ptl/writer.h>

#include "common/bytes.h"
#include "analysis/usage/io_rows.h"
#include "analysis/usage/schedule_rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SIZE_LIMIT 4096
#define RECORD 6
#define FIELDS 4

static void need(bool holds)
{
	if (!holds)
		abort();
}

/* Kinds of events. Fields without a name end the list; "rwbs" is a text, all others have 64 bits. */
static const struct kind {
	const char *provider, *event, *fields[FIELDS];
} kinds[] = {
	{"sched", "sched_switch", {"prev_pid", "next_pid", "prev_state"}},
	{"sched", "sched_wakeup", {"pid", "common_flags"}},
	{"sched", "sched_wakeup_new", {"pid", "common_flags"}},
	{"Windows Kernel", "Thread/ReadyThread", {"TThreadId", "Flag"}},
	{"block", "block_rq_insert", {"sector", "nr_sector", "dev", "rwbs"}},
	{"block", "block_rq_issue", {"sector", "nr_sector", "dev", "rwbs"}},
	{"block", "block_rq_complete", {"sector", "nr_sector", "dev", "rwbs"}},
	{"raw_syscalls", "sys_enter", {"id", "args"}},
	{"raw_syscalls", "sys_exit", {"id", "ret"}},
	{"syscalls", "sys_enter_read", {"fd", "__syscall_nr"}},
	{"syscalls", "sys_exit_read", {"ret", "__syscall_nr"}},
	{"filemap", "mm_filemap_add_to_page_cache", {"i_ino", "s_dev", "order"}},
	{"sock", "sock_send_length", {"sk", "ret"}},
	{"Windows Kernel", "DiskIO/Read", {"TransferSize", "HighResResponseTime", "DiskNumber"}},
	{"Windows Kernel", "EventTrace/Header", {"PerfFreq"}},
	{"Windows Kernel", "FileIO/Read", {"IrpPtr", "IoSize", "TTID"}},
	{"Windows Kernel", "FileIO/OperationEnd", {"IrpPtr", "NtStatus"}},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static struct ptl_guid guid_of(size_t kind)
{
	struct ptl_guid guid = {{0}};

	guid.bytes[15] = (uint8_t)(kind + 1);
	return guid;
}

static void write_schema(struct ptl_writer *writer, size_t kind)
{
	struct ptl_field fields[FIELDS];
	struct ptl_schema schema = {
		.provider = guid_of(kind),
		.id = 1,
		.provider_name = kinds[kind].provider,
		.event_name = kinds[kind].event,
		.task_name = "",
		.opcode_name = "",
		.message = "",
		.fields = fields,
	};

	for (; schema.field_count < FIELDS && kinds[kind].fields[schema.field_count]; schema.field_count++) {
		const char *name = kinds[kind].fields[schema.field_count];

		fields[schema.field_count] = (struct ptl_field){
			.name = name, .type = strcmp(name, "rwbs") == 0 ? PTL_TYPE_UTF8 : PTL_TYPE_I64};
	}
	need(ptl_writer_schema(writer, &schema) == 0);
}

static void write_tracepoint(struct ptl_writer *writer, uint32_t stream, size_t kind, const uint8_t *record,
			     struct ptl_event *event)
{
	static const char *const operations[] = {"R", "WS", "FF", "D", ""};
	struct ptl_bytes payload = {0};

	for (size_t i = 0; i < FIELDS && kinds[kind].fields[i]; i++) {
		const char *operation = operations[record[5] % (sizeof(operations) / sizeof(operations[0]))];

		if (strcmp(kinds[kind].fields[i], "rwbs") == 0)
			common_write_bytes(&payload, operation, strlen(operation) + 1);
		else
			common_write_le(&payload, i < 2 ? (uint64_t)(int8_t)record[4 + i] : record[3], 8);
	}
	event->descriptor = (struct ptl_descriptor){.provider = guid_of(kind), .id = 1};
	event->payload = payload.data;
	event->payload_size = payload.size;
	need(ptl_writer_event(writer, stream, event) == 0);
	common_bytes_free(&payload);
}

static void write_switch(struct ptl_writer *writer, uint32_t stream, const uint8_t *record, struct ptl_event *event)
{
	const struct ptl_switch_event data = {.new_thread = record[4] % 8u, .old_thread = record[5] % 8u};
	struct ptl_bytes storage = {0};
	struct ptl_event encoded = *event;

	need(ptl_switch_encode(&data, &storage, &encoded) == 0);
	storage.data[14] = record[4] >> 5;
	need(ptl_writer_event(writer, stream, &encoded) == 0);
	common_bytes_free(&storage);
}

static struct ptl_trace *make_trace(const uint8_t *data, size_t size)
{
	const struct ptl_machine machine = {.source = "fuzz",
					    .mode = 64,
					    .clock = PTL_CLOCK_MONOTONIC,
					    .tsc_multiplier = 1,
					    .cpus = 3,
					    .start_time = 1000};
	struct ptl_stream events = {.kind = PTL_KIND_EVENTS, .cpu = PTL_NO_CPU, .pid = PTL_NO_ID, .tid = PTL_NO_ID};
	const int fd = memfd_create("trace", MFD_CLOEXEC);
	struct ptl_writer *writer;
	struct ptl_trace *trace = NULL;
	uint64_t time = 1000;

	need(ptl_writer_open(dup(fd), NULL, &writer) == 0 && ptl_writer_machine(writer, &machine) == 0 &&
	     ptl_writer_stream(writer, &events) == 0);
	for (size_t kind = 0; kind < KINDS; kind++)
		write_schema(writer, kind);
	for (; size >= RECORD; data += RECORD, size -= RECORD) {
		const size_t kind = data[0] % (KINDS + 1);
		struct ptl_event event = {
			.time = time += data[1], .cpu = data[2] % 4u, .pid = data[3] % 8u / 2, .tid = data[3] % 8u};

		if (event.cpu == 3)
			event.cpu = PTL_NO_CPU;
		if (kind < KINDS)
			write_tracepoint(writer, events.id, kind, data, &event);
		else
			write_switch(writer, events.id, data, &event);
	}
	need(ptl_writer_close(writer) == 0 && ptl_open_fd(fd, "fuzz", NULL, &trace) == 0);
	return trace;
}

static int take_slice(void *context, const struct usage_schedule *schedule, const struct usage_slice *slice)
{
	uint64_t *sum = context;

	need(slice->from <= slice->to && slice->from >= schedule->first && slice->to <= schedule->last &&
	     slice->thread < schedule->thread_count);
	*sum += slice->to - slice->from;
	return 0;
}

static void check_schedule(const struct analysis_input *input, const struct flow_timeline *timeline)
{
	struct usage_schedule schedule;
	struct usage_rows rows;
	uint64_t sliced = 0, busy = 0, running = 0, span;

	need(usage_schedule_read(&schedule, input, timeline, take_slice, &sliced) == 0 &&
	     usage_rows_make(&rows, &schedule, input) == 0);
	span = schedule.last > schedule.first ? schedule.last - schedule.first : 0;
	for (size_t i = 0; i < schedule.cpu_count; i++) {
		const struct usage_cpu *cpu = &schedule.cpus[i];

		need(cpu->busy + cpu->idle + cpu->unknown == span);
		busy += cpu->busy;
	}
	for (size_t i = 0; i < schedule.thread_count; i++) {
		uint64_t life = 0;

		for (unsigned k = 0; k < USAGE_STATES; k++)
			life += schedule.threads[i].times[k];
		need(life <= span);
		running += schedule.threads[i].times[USAGE_RUNNING];
	}
	need(busy == running && busy == sliced && busy == rows.total.busy);
	usage_rows_free(&rows);
	usage_schedule_free(&schedule);
}

static void check_io(const struct analysis_input *input, const struct flow_timeline *timeline)
{
	struct usage_io io;

	need(usage_io_read(&io, input, timeline) == 0);
	for (unsigned medium = 0; medium < USAGE_MEDIA; medium++) {
		struct usage_io_rows by[3];

		for (unsigned i = 0; i < 3; i++)
			need(usage_io_rows_make(&by[i], &io, input, (enum usage_medium)medium, (enum usage_io_by)i) ==
			     0);
		for (unsigned i = 0; i < 3; i++) {
			/* Of several longest operations, any may be the one. */
			by[i].sum.longest_at = 0;
			need(!memcmp(&by[i].sum, &by[0].sum, sizeof(by[0].sum)));
		}
		for (unsigned i = 0; i < 3; i++)
			usage_io_rows_free(&by[i]);
	}
	for (size_t i = 0; i < io.object_count; i++)
		need(io.objects[i].busy <= (io.last > io.first ? io.last - io.first : 0));
	usage_io_free(&io);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct analysis_filter filter = {.last_time = UINT64_MAX};
	struct analysis_input input = {.filter = &filter};
	struct flow_timeline *timeline;

	if (size < RECORD || size > SIZE_LIMIT)
		return 0;
	input.trace = make_trace(data, size);
	need(flow_timeline_build(input.trace, &timeline) == 0);
	check_schedule(&input, timeline);
	check_io(&input, timeline);
	/* A window within. */
	filter.first_time = 1000 + data[0];
	filter.last_time = filter.first_time + data[size - 1] * 4u;
	check_schedule(&input, timeline);
	check_io(&input, timeline);
	flow_timeline_free(timeline);
	ptl_close(input.trace);
	return 0;
}
