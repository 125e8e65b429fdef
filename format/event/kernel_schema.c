/* SPDX-License-Identifier: BSD-2-Clause */
/* The schemas of the kernel provider's classes: docs/format.md, section 11. */
#include <ptl/kernel.h>

#include "format/event/kernel.h"

const struct ptl_guid PTL_PROVIDER_KERNEL = FORMAT_KERNEL_GUID;
const struct ptl_guid PTL_PROVIDER_PROCESS = FORMAT_PROCESS_GUID;
const struct ptl_guid PTL_PROVIDER_THREAD = FORMAT_THREAD_GUID;
const struct ptl_guid PTL_PROVIDER_IMAGE = FORMAT_IMAGE_GUID;
const struct ptl_guid PTL_PROVIDER_CODE = FORMAT_CODE_GUID;
const struct ptl_guid PTL_PROVIDER_SIGNAL = FORMAT_SIGNAL_GUID;

#define FIELD(field_name, field_type)                                                                                  \
	{                                                                                                              \
		.name = (field_name), .type = (field_type)                                                             \
	}
#define HEX(field_name, field_type)                                                                                    \
	{                                                                                                              \
		.name = (field_name), .type = (field_type), .format = PTL_FORMAT_HEX                                   \
	}
#define HASH(field_name)                                                                                               \
	{                                                                                                              \
		.name = (field_name), .type = PTL_TYPE_BYTES_COUNTED, .format = PTL_FORMAT_HASH                        \
	}

static const struct ptl_field process_fields[] = {
	HEX("UniqueProcessKey", PTL_TYPE_U64), FIELD("ProcessId", PTL_TYPE_U32),
	FIELD("ParentId", PTL_TYPE_U32),       FIELD("SessionId", PTL_TYPE_U32),
	FIELD("ExitStatus", PTL_TYPE_I32),     FIELD("DirectoryTableBase", PTL_TYPE_POINTER),
	FIELD("UserSID", PTL_TYPE_U32),        FIELD("ImageFileName", PTL_TYPE_UTF8),
	FIELD("CommandLine", PTL_TYPE_UTF16),  HEX("Flags", PTL_TYPE_U32),
};

static const struct ptl_field thread_fields[] = {
	FIELD("ProcessId", PTL_TYPE_U32),         FIELD("TThreadId", PTL_TYPE_U32),
	FIELD("StackBase", PTL_TYPE_POINTER),     FIELD("StackLimit", PTL_TYPE_POINTER),
	FIELD("UserStackBase", PTL_TYPE_POINTER), FIELD("UserStackLimit", PTL_TYPE_POINTER),
	FIELD("Affinity", PTL_TYPE_POINTER),      FIELD("Win32StartAddr", PTL_TYPE_POINTER),
	FIELD("TebBase", PTL_TYPE_POINTER),       FIELD("SubProcessTag", PTL_TYPE_U32),
	FIELD("BasePriority", PTL_TYPE_U8),       FIELD("PagePriority", PTL_TYPE_U8),
	FIELD("IoPriority", PTL_TYPE_U8),         FIELD("ThreadFlags", PTL_TYPE_U8),
	FIELD("ThreadName", PTL_TYPE_UTF16),
};

/* CSwitch of Windows' Thread_V2 class. */
static const struct ptl_field switch_fields[] = {
	FIELD("NewThreadId", PTL_TYPE_U32),        FIELD("OldThreadId", PTL_TYPE_U32),
	FIELD("NewThreadPriority", PTL_TYPE_I8),   FIELD("OldThreadPriority", PTL_TYPE_I8),
	FIELD("PreviousCState", PTL_TYPE_U8),      FIELD("SpareByte", PTL_TYPE_I8),
	FIELD("OldThreadWaitReason", PTL_TYPE_I8), FIELD("OldThreadWaitMode", PTL_TYPE_I8),
	FIELD("OldThreadState", PTL_TYPE_I8),      FIELD("OldThreadWaitIdealProcessor", PTL_TYPE_I8),
	FIELD("NewThreadWaitTime", PTL_TYPE_U32),  FIELD("Reserved", PTL_TYPE_U32),
};

static const struct ptl_field image_fields[] = {
	FIELD("ImageBase", PTL_TYPE_POINTER),
	HEX("ImageSize", PTL_TYPE_U64),
	FIELD("ProcessId", PTL_TYPE_U32),
	FIELD("ImageCheckSum", PTL_TYPE_U32),
	FIELD("TimeDateStamp", PTL_TYPE_U32),
	FIELD("SignatureLevel", PTL_TYPE_U8),
	FIELD("SignatureType", PTL_TYPE_U8),
	FIELD("Reserved0", PTL_TYPE_U16),
	FIELD("DefaultBase", PTL_TYPE_POINTER),
	FIELD("Reserved1", PTL_TYPE_U32),
	FIELD("Reserved2", PTL_TYPE_U32),
	FIELD("Reserved3", PTL_TYPE_U32),
	FIELD("Reserved4", PTL_TYPE_U32),
	FIELD("FileName", PTL_TYPE_UTF16),
	HEX("FileOffset", PTL_TYPE_U64),
	HEX("Protection", PTL_TYPE_U32),
	FIELD("DeviceMajor", PTL_TYPE_U32),
	FIELD("DeviceMinor", PTL_TYPE_U32),
	FIELD("Inode", PTL_TYPE_U64),
	HASH("BuildId"),
	HASH("CodeHash"),
	HASH("SymbolsHash"),
	HASH("DebugHash"),
};

static const struct ptl_field code_fields[] = {
	FIELD("ProcessId", PTL_TYPE_U32),
	FIELD("Base", PTL_TYPE_POINTER),
	HEX("Size", PTL_TYPE_U64),
	{.name = "CodeHash", .type = PTL_TYPE_BYTES, .format = PTL_FORMAT_HASH, .length = PTL_HASH_SIZE},
};

static const struct ptl_field signal_fields[] = {
	FIELD("ProcessId", PTL_TYPE_U32),   FIELD("ThreadId", PTL_TYPE_U32), FIELD("Signal", PTL_TYPE_U32),
	FIELD("Code", PTL_TYPE_I32),        FIELD("SenderId", PTL_TYPE_U32), HEX("Flags", PTL_TYPE_U32),
	FIELD("Address", PTL_TYPE_POINTER),
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* X(class, CLASS, Task, OPCODE, Name) for each event. */
#define EVENTS(X)                                                                                                      \
	X(process, PROCESS, Process, START, Start)                                                                     \
	X(process, PROCESS, Process, END, End)                                                                         \
	X(process, PROCESS, Process, START_RUNDOWN, DCStart)                                                           \
	X(process, PROCESS, Process, END_RUNDOWN, DCEnd)                                                               \
	X(process, PROCESS, Process, EXEC, Exec)                                                                       \
	X(thread, THREAD, Thread, START, Start)                                                                        \
	X(thread, THREAD, Thread, END, End)                                                                            \
	X(thread, THREAD, Thread, START_RUNDOWN, DCStart)                                                              \
	X(thread, THREAD, Thread, END_RUNDOWN, DCEnd)                                                                  \
	X(switch, THREAD, Thread, CONTEXT_SWITCH, CSwitch)                                                             \
	X(image, IMAGE, Image, LOAD, Load)                                                                             \
	X(image, IMAGE, Image, UNLOAD, Unload)                                                                         \
	X(image, IMAGE, Image, START_RUNDOWN, DCStart)                                                                 \
	X(image, IMAGE, Image, END_RUNDOWN, DCEnd)                                                                     \
	X(image, IMAGE, Image, PROTECT, Protect)                                                                       \
	X(code, CODE, Code, CODE, Change)                                                                              \
	X(signal, SIGNAL, Signal, FATAL, Fatal)

#define SCHEMA(class, CLASS, Task, OPCODE, Name)                                                                       \
	static const struct ptl_schema class##_##OPCODE = {                                                            \
		.provider = FORMAT_##CLASS##_GUID,                                                                     \
		.version = FORMAT_##CLASS##_VERSION,                                                                   \
		.opcode = PTL_OPCODE_##OPCODE,                                                                         \
		.provider_name = "Kernel",                                                                             \
		.event_name = #Task "/" #Name,                                                                         \
		.task_name = #Task,                                                                                    \
		.opcode_name = #Name,                                                                                  \
		.message = "",                                                                                         \
		.fields = class##_fields,                                                                              \
		.field_count = COUNT(class##_fields),                                                                  \
	};
EVENTS(SCHEMA)

#define POINTER(class, CLASS, Task, OPCODE, Name) &class##_##OPCODE,
static const struct ptl_schema *const schemas[] = {EVENTS(POINTER)};

const struct ptl_schema *const *ptl_kernel_schemas(size_t *count)
{
	*count = COUNT(schemas);
	return schemas;
}
