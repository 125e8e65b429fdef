/* SPDX-License-Identifier: BSD-2-Clause */
/* Schemas of kernel records that are kept as events. */
#include "perf/schemas.h"

#include "perf/layout.h"

/*
 * Provider of records without a counterpart among ETW's classes. The GUID is derived from the name "Linux-Perf" by the
 * rule of .NET's EventSource. Event ids are perf's record types.
 */
#define LINUX_PERF                                                                                                     \
	{                                                                                                              \
		{                                                                                                      \
			0x43, 0x18, 0x65, 0xd7, 0xf9, 0xc2, 0xca, 0x54, 0xa5, 0xaa, 0xda, 0xbf, 0x8e, 0xb6, 0xd2, 0xf4 \
		}                                                                                                      \
	}

const struct ptl_guid perf_provider = LINUX_PERF;

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
static const struct ptl_field task[] = {FIELD("ProcessId", PTL_TYPE_U32), FIELD("ParentId", PTL_TYPE_U32),
					FIELD("ThreadId", PTL_TYPE_U32), FIELD("ParentThreadId", PTL_TYPE_U32),
					FIELD("Time", PTL_TYPE_TIME)};
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

/* No decoder of stacks takes the calls for calls of the process. */
static const struct ptl_field guest_sample[] = {
	FIELD("Event", PTL_TYPE_UTF8),
	FIELD("InstructionPointer", PTL_TYPE_POINTER),
	FIELD("Period", PTL_TYPE_U64),
	FIELD("Address", PTL_TYPE_POINTER),
	{.name = "Calls", .type = PTL_TYPE_U64, .format = PTL_FORMAT_HEX, .array = PTL_ARRAY_COUNTED},
	FIELD("Data", PTL_TYPE_BYTES)};

static const struct ptl_field detail[] = {
	FIELD("Event", PTL_TYPE_UTF8),
	FIELD("TimeEnabled", PTL_TYPE_U64),
	FIELD("TimeRunning", PTL_TYPE_U64),
	{.name = "Counters", .type = PTL_TYPE_STRUCT, .array = PTL_ARRAY_COUNTED, .length = 3},
	FIELD("Counter", PTL_TYPE_UTF8),
	FIELD("Value", PTL_TYPE_U64),
	FIELD("Lost", PTL_TYPE_U64),
	{.name = "Branches", .type = PTL_TYPE_STRUCT, .array = PTL_ARRAY_COUNTED, .length = 3},
	FIELD("From", PTL_TYPE_POINTER),
	FIELD("To", PTL_TYPE_POINTER),
	HEX("Flags", PTL_TYPE_U64),
	FIELD("BranchIndex", PTL_TYPE_U64),
	{.name = "BranchCounters", .type = PTL_TYPE_U64, .format = PTL_FORMAT_HEX, .array = PTL_ARRAY_COUNTED},
	FIELD("UserAbi", PTL_TYPE_U64),
	HEX("UserRegisterMask", PTL_TYPE_U64),
	{.name = "UserRegisters", .type = PTL_TYPE_U64, .format = PTL_FORMAT_HEX, .array = PTL_ARRAY_COUNTED},
	FIELD("InterruptAbi", PTL_TYPE_U64),
	HEX("InterruptRegisterMask", PTL_TYPE_U64),
	{.name = "InterruptRegisters", .type = PTL_TYPE_U64, .format = PTL_FORMAT_HEX, .array = PTL_ARRAY_COUNTED},
	HEX("Weight", PTL_TYPE_U64),
	HEX("DataSource", PTL_TYPE_U64),
	HEX("Transaction", PTL_TYPE_U64),
	FIELD("PhysicalAddress", PTL_TYPE_POINTER),
	FIELD("Cgroup", PTL_TYPE_U64),
	FIELD("DataPageSize", PTL_TYPE_U64),
	FIELD("CodePageSize", PTL_TYPE_U64),
	FIELD("Rest", PTL_TYPE_BYTES)};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define EVENT(number, event, list)                                                                                     \
	{                                                                                                              \
		.provider = LINUX_PERF, .id = number, .provider_name = "Linux-Perf", .event_name = event,              \
		.task_name = "", .opcode_name = "", .message = "", .fields = list, .field_count = COUNT(list)          \
	}

const struct ptl_schema perf_schemas[] = {
	EVENT(PERF_RECORD_MMAP, "Mmap", map),
	EVENT(PERF_RECORD_LOST, "Lost", lost),
	EVENT(PERF_RECORD_COMM, "Comm", comm),
	EVENT(PERF_RECORD_EXIT, "Exit", task),
	EVENT(PERF_RECORD_THROTTLE, "Throttle", throttle),
	EVENT(PERF_RECORD_UNTHROTTLE, "Unthrottle", throttle),
	EVENT(PERF_RECORD_FORK, "Fork", task),
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
	EVENT(PERF_RECORD_ID_INDEX, "IdIndex", bytes),
	EVENT(PERF_RECORD_AUXTRACE_ERROR, "AuxtraceError", bytes),
	EVENT(PERF_RECORD_STAT_CONFIG, "StatConfig", bytes),
	EVENT(PERF_RECORD_STAT, "Stat", stat_fields),
	EVENT(PERF_RECORD_STAT_ROUND, "StatRound", bytes),
	EVENT(PERF_RECORD_BPF_METADATA, "BpfMetadata", bytes),
	EVENT(PERF_EVENT_TRACEPOINT, "Tracepoint", sample_fields),
	EVENT(PERF_EVENT_SAMPLE_DETAIL, "SampleDetail", detail),
	EVENT(PERF_EVENT_GUEST_SAMPLE, "GuestSample", guest_sample),
};

const size_t perf_schema_count = COUNT(perf_schemas);

const struct ptl_schema *perf_schema_sample(void)
{
	for (size_t i = 0; i < perf_schema_count; i++)
		if (perf_schemas[i].id == PERF_RECORD_SAMPLE)
			return &perf_schemas[i];
	return NULL;
}
