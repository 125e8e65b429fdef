/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of an import: in which stream they go, and those that perf alone has. */
#include <string.h>

#include "common/error.h"
#include "import/perf/import.h"

/*
 * The provider of what has no counterpart among ETW's classes. Its GUID is that of the name "Linux-Perf" by
 * the rule of .NET's EventSource; event ids are perf's record types.
 */
#define LINUX_PERF                                                                                                     \
	{                                                                                                              \
		{                                                                                                      \
			0x43, 0x18, 0x65, 0xd7, 0xf9, 0xc2, 0xca, 0x54, 0xa5, 0xaa, 0xda, 0xbf, 0x8e, 0xb6, 0xd2, 0xf4 \
		}                                                                                                      \
	}

#define EVENT_TRACEPOINT 256            /* a sample of a tracepoint: its bytes */
#define FRAME_MARKERS ((uint64_t)-4096) /* from here on: PERF_CONTEXT_*, where the kernel's or user's frames begin */
#define STACK_TRACE64 6                 /* EVENT_HEADER_EXT_TYPE_STACK_TRACE64 */
#define FRAMES_MAX 1024
#define EXTENDED_MAX 4

#define FIELD(field_name, field_type)                                                                                  \
	{                                                                                                              \
		.name = field_name, .type = field_type                                                                 \
	}
#define HEX(field_name, field_type)                                                                                    \
	{                                                                                                              \
		.name = field_name, .type = field_type, .format = PTL_FORMAT_HEX                                       \
	}

static const struct ptl_field lost[] = {FIELD("Id", PTL_TYPE_U64), FIELD("Lost", PTL_TYPE_U64)};
static const struct ptl_field lost_samples[] = {FIELD("Lost", PTL_TYPE_U64)};
static const struct ptl_field comm[] = {FIELD("ProcessId", PTL_TYPE_U32), FIELD("ThreadId", PTL_TYPE_U32),
					FIELD("Name", PTL_TYPE_UTF8)};
static const struct ptl_field throttle[] = {FIELD("Time", PTL_TYPE_TIME), FIELD("Id", PTL_TYPE_U64),
					    FIELD("StreamId", PTL_TYPE_U64)};
static const struct ptl_field map2[] = {
	FIELD("ProcessId", PTL_TYPE_U32),   FIELD("ThreadId", PTL_TYPE_U32),
	FIELD("Address", PTL_TYPE_POINTER), HEX("Length", PTL_TYPE_U64),
	HEX("FileOffset", PTL_TYPE_U64),    {.name = "FileId", .type = PTL_TYPE_BYTES, .length = 24},
	HEX("Protection", PTL_TYPE_U32),    HEX("Flags", PTL_TYPE_U32),
	FIELD("FileName", PTL_TYPE_UTF8)};
static const struct ptl_field map[] = {FIELD("ProcessId", PTL_TYPE_U32),   FIELD("ThreadId", PTL_TYPE_U32),
				       FIELD("Address", PTL_TYPE_POINTER), HEX("Length", PTL_TYPE_U64),
				       HEX("FileOffset", PTL_TYPE_U64),    FIELD("FileName", PTL_TYPE_UTF8)};
static const struct ptl_field aux[] = {HEX("Offset", PTL_TYPE_U64), FIELD("Size", PTL_TYPE_U64),
				       HEX("Flags", PTL_TYPE_U64)};
static const struct ptl_field process_thread[] = {FIELD("ProcessId", PTL_TYPE_U32), FIELD("ThreadId", PTL_TYPE_U32)};
static const struct ptl_field namespaces[] = {FIELD("ProcessId", PTL_TYPE_U32), FIELD("ThreadId", PTL_TYPE_U32),
					      FIELD("Count", PTL_TYPE_U64), FIELD("Links", PTL_TYPE_BYTES)};
static const struct ptl_field ksymbol[] = {FIELD("Address", PTL_TYPE_POINTER), HEX("Length", PTL_TYPE_U32),
					   FIELD("Type", PTL_TYPE_U16), HEX("Flags", PTL_TYPE_U16),
					   FIELD("Name", PTL_TYPE_UTF8)};
static const struct ptl_field bpf[] = {FIELD("Type", PTL_TYPE_U16),
				       HEX("Flags", PTL_TYPE_U16),
				       FIELD("Id", PTL_TYPE_U32),
				       {.name = "Tag", .type = PTL_TYPE_BYTES, .format = PTL_FORMAT_HASH, .length = 8}};
static const struct ptl_field cgroup[] = {FIELD("Id", PTL_TYPE_U64), FIELD("Path", PTL_TYPE_UTF8)};
static const struct ptl_field text_poke[] = {FIELD("Address", PTL_TYPE_POINTER), FIELD("OldSize", PTL_TYPE_U16),
					     FIELD("NewSize", PTL_TYPE_U16), FIELD("Code", PTL_TYPE_BYTES)};
static const struct ptl_field hardware_id[] = {HEX("HardwareId", PTL_TYPE_U64)};
static const struct ptl_field bytes[] = {FIELD("Data", PTL_TYPE_BYTES)};
static const struct ptl_field stat_fields[] = {FIELD("Id", PTL_TYPE_U64),          FIELD("Cpu", PTL_TYPE_U32),
					       FIELD("ThreadIndex", PTL_TYPE_U32), FIELD("Value", PTL_TYPE_U64),
					       FIELD("TimeEnabled", PTL_TYPE_U64), FIELD("TimeRunning", PTL_TYPE_U64)};
static const struct ptl_field sample_fields[] = {
	FIELD("Event", PTL_TYPE_UTF8), FIELD("InstructionPointer", PTL_TYPE_POINTER), FIELD("Period", PTL_TYPE_U64),
	FIELD("Address", PTL_TYPE_POINTER), FIELD("Data", PTL_TYPE_BYTES)};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define EVENT(number, event, list)                                                                                     \
	{                                                                                                              \
		.provider = LINUX_PERF, .id = number, .provider_name = "Linux-Perf", .event_name = event,              \
		.task_name = "", .opcode_name = "", .message = "", .fields = list, .field_count = COUNT(list)          \
	}

static const struct ptl_schema schemas[] = {
	EVENT(PERF_RECORD_MMAP, "Mmap", map),
	EVENT(PERF_RECORD_LOST, "Lost", lost),
	EVENT(PERF_RECORD_COMM, "Comm", comm),
	EVENT(PERF_RECORD_THROTTLE, "Throttle", throttle),
	EVENT(PERF_RECORD_UNTHROTTLE, "Unthrottle", throttle),
	EVENT(PERF_RECORD_READ, "Read", bytes),
	EVENT(PERF_RECORD_SAMPLE, "Sample", sample_fields),
	EVENT(PERF_RECORD_MMAP2, "Mmap2", map2),
	EVENT(PERF_RECORD_AUX, "Aux", aux),
	EVENT(PERF_RECORD_ITRACE_START, "ItraceStart", process_thread),
	EVENT(PERF_RECORD_LOST_SAMPLES, "LostSamples", lost_samples),
	EVENT(PERF_RECORD_SWITCH, "Switch", bytes),
	EVENT(PERF_RECORD_SWITCH_CPU_WIDE, "SwitchCpuWide", process_thread),
	EVENT(PERF_RECORD_NAMESPACES, "Namespaces", namespaces),
	EVENT(PERF_RECORD_KSYMBOL, "Ksymbol", ksymbol),
	EVENT(PERF_RECORD_BPF_EVENT, "BpfEvent", bpf),
	EVENT(PERF_RECORD_CGROUP, "Cgroup", cgroup),
	EVENT(PERF_RECORD_TEXT_POKE, "TextPoke", text_poke),
	EVENT(PERF_RECORD_AUX_OUTPUT_HW_ID, "AuxOutputHardwareId", hardware_id),
	EVENT(PERF_RECORD_AUXTRACE_ERROR, "AuxtraceError", bytes),
	EVENT(PERF_RECORD_STAT_CONFIG, "StatConfig", bytes),
	EVENT(PERF_RECORD_STAT, "Stat", stat_fields),
	EVENT(PERF_RECORD_STAT_ROUND, "StatRound", bytes),
	EVENT(EVENT_TRACEPOINT, "Tracepoint", sample_fields),
};

int perf_event_schemas(struct perf_import *import)
{
	int status = 0;

	for (size_t i = 0; !status && i < COUNT(schemas); i++)
		status = ptl_writer_schema(import->writer, &schemas[i]);
	return status;
}

uint64_t perf_time(const struct perf_import *import, const struct perf_sample *sample)
{
	return sample->has_time && sample->time ? sample->time : import->machine.start_time;
}

bool perf_is_rundown(const struct perf_import *import, const struct perf_sample *sample)
{
	return sample->has_time ? !sample->time : !import->running;
}

/*
 * perf.data is in order of time only within what came from one ring buffer. An event goes into the stream that
 * ends last before it, or begins one: so there are no more streams than rings, and nothing waits in memory.
 */
static int find_lane(struct perf_import *import, uint64_t time, struct perf_lane **found)
{
	struct perf_lane *best = NULL, *earliest = NULL;
	struct ptl_stream stream = {.kind = PTL_KIND_EVENTS, .cpu = PTL_NO_CPU, .pid = PTL_NO_ID, .tid = PTL_NO_ID};
	int status;

	for (size_t i = 0; i < import->lane_count; i++) {
		struct perf_lane *lane = &import->lanes[i];

		if (lane->last <= time && (!best || lane->last > best->last))
			best = lane;
		if (!earliest || lane->last < earliest->last)
			earliest = lane;
	}
	if (!best && import->lane_count == PERF_LANES_MAX)
		best = earliest; /* times go back in it: kept as they are */
	if (best) {
		*found = best;
		return 0;
	}
	status = ptl_writer_stream(import->writer, &stream);
	if (status)
		return status;
	*found = &import->lanes[import->lane_count++];
	**found = (struct perf_lane){.stream = stream.id};
	return 0;
}

int perf_event_write(struct perf_import *import, struct ptl_event *event)
{
	struct perf_lane *lane;
	int status = find_lane(import, event->time, &lane);

	if (status)
		return status;
	lane->last = event->time;
	return ptl_writer_event(import->writer, lane->stream, event);
}

static struct ptl_event event_of(const struct perf_import *import, uint16_t id, const struct perf_sample *sample)
{
	static const struct ptl_guid provider = LINUX_PERF;

	return (struct ptl_event){
		.descriptor = {.provider = provider, .id = id, .level = 4},
		.time = perf_time(import, sample),
		.cpu = sample->cpu,
		.pid = sample->pid,
		.tid = sample->tid,
	};
}

int perf_event_keep(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
		    size_t body)
{
	struct ptl_event event = event_of(import, (uint16_t)record->type, sample);

	event.payload = record->body;
	event.payload_size = body;
	return perf_event_write(import, &event);
}

/* ETW's item for a stack: a number that matches it to another, then the addresses. It is put behind what storage has. */
static void put_stack(struct ptl_bytes *storage, const struct perf_sample *sample, struct ptl_extended *item)
{
	const size_t start = storage->size;

	common_write_le(storage, 0, 8);
	for (size_t i = 0, frames = 0; i < sample->callchain_count && frames < FRAMES_MAX; i++) {
		const uint64_t address = common_load64(sample->callchain + 8 * i);

		if (address >= FRAME_MARKERS)
			continue;
		common_write_le(storage, address, 8);
		frames++;
	}
	*item = (struct ptl_extended){STACK_TRACE64, (uint16_t)(storage->size - start), NULL};
}

/* Writes a sample's event, with its stack. The payload may be the first bytes of the storage, or lie elsewhere. */
static int write_sample(struct perf_import *import, const struct perf_sample *sample, struct ptl_event *event)
{
	struct ptl_bytes *storage = &import->storage;
	struct ptl_extended items[EXTENDED_MAX];
	const bool in_storage = event->payload == storage->data;
	size_t count = event->extended_count;

	event->time = perf_time(import, sample);
	event->cpu = sample->cpu;
	event->pid = sample->pid;
	event->tid = sample->tid;
	if (!in_storage)
		storage->size = 0;
	if (sample->callchain_count && count < EXTENDED_MAX) {
		const size_t start = storage->size;

		if (count)
			memcpy(items, event->extended, count * sizeof(*items));
		put_stack(storage, sample, &items[count]);
		items[count++].data = storage->data + start;
		event->extended = items;
		event->extended_count = count;
	}
	if (storage->failed)
		return common_fail_memory("a sample", storage->size);
	if (in_storage)
		event->payload = storage->data;
	return perf_event_write(import, event);
}

/* Fields that each tracepoint has: id, flags, preempt count, pid. */
#define TRACEPOINT_COMMON 8

/*
 * An event that describes itself. 1: written; 0: it is none, or one that cannot be understood and is kept as any
 * other tracepoint's is.
 */
static int write_described(struct perf_import *import, const struct perf_sample *sample)
{
	const struct ptl_schema *schema;
	struct ptl_event event;
	bool is_new;
	int status;

	if (sample->raw_size < TRACEPOINT_COMMON)
		return 0;
	status = ptl_event_header_decode(import->headers, sample->attr->name, sample->raw + TRACEPOINT_COMMON,
					 sample->raw_size - TRACEPOINT_COMMON, &event, &schema, &is_new);
	if (status == PTL_NO_MEMORY)
		return status;
	if (status && status != PTL_CORRUPT)
		return 0;
	status = schema && is_new ? ptl_writer_schema(import->writer, schema) : 0;
	if (!status)
		status = write_sample(import, sample, &event);
	return status ? status : 1;
}

/* An event whose format the file has. Returns as above. */
static int write_typed(struct perf_import *import, const struct perf_sample *sample)
{
	struct perf_tracing_described described;
	struct ptl_event event;
	int status = perf_tracing_decode(&import->tracing, sample->attr->config, sample->raw, sample->raw_size,
					 &import->storage, &event, &described);

	if (status <= 0)
		return status;
	status = described.is_new ? ptl_writer_schema(import->writer, described.schema) : 0;
	for (size_t i = 0; !status && described.is_new && i < described.map_count; i++)
		status = ptl_writer_map(import->writer, &described.maps[i]);
	if (!status)
		status = write_sample(import, sample, &event);
	return status ? status : 1;
}

int perf_event_sample(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample)
{
	const bool tracepoint = sample->attr && sample->attr->type == PERF_TYPE_TRACEPOINT;
	const char *name = sample->attr ? sample->attr->name : "";
	struct ptl_event event = event_of(import, tracepoint ? EVENT_TRACEPOINT : PERF_RECORD_SAMPLE, sample);
	struct ptl_bytes *storage = &import->storage;

	(void)record;
	if (tracepoint && sample->raw) {
		int status = write_described(import, sample);

		if (!status)
			status = write_typed(import, sample);
		if (status)
			return status < 0 ? status : 0;
	}
	storage->size = 0;
	common_write_bytes(storage, name, strlen(name) + 1);
	common_write_le(storage, sample->ip, 8);
	common_write_le(storage, sample->period, 8);
	common_write_le(storage, sample->address, 8);
	common_write_bytes(storage, sample->raw ? sample->raw : sample->rest,
			   sample->raw ? sample->raw_size : sample->rest_size);
	event.payload = storage->data;
	event.payload_size = storage->size;
	return write_sample(import, sample, &event);
}
