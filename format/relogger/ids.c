/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changes ids of processes, threads and CPUs in events of the kernel provider's classes. Schemas give their places:
 * fields with the names below, before any field of variable size.
 */
#include "format/relogger/ids.h"

#include <inttypes.h>
#include <string.h>

#include <ptl/kernel.h>

#include "common/bytes.h"
#include "common/error.h"
#include "format/relogger/input.h"

#define ETW_KERNEL "Windows Kernel" /* provider name in traces imported from .etl files */

enum role { ROLE_NONE, ROLE_ID, ROLE_PARENT, ROLE_KEY };

static const struct {
	const char *name;
	enum role role;
} names[] = {
	{"ProcessId", ROLE_ID},
	{"ParentId", ROLE_PARENT},
	{"TThreadId", ROLE_ID},
	{"ThreadId", ROLE_ID},
	{"NewThreadId", ROLE_ID},
	{"OldThreadId", ROLE_ID},
	{"NewProcessId", ROLE_ID},
	{"OldProcessId", ROLE_ID},
	{"TargetThreadId", ROLE_ID},
	{"TargetProcessId", ROLE_ID},
	{"ParentThreadId", ROLE_PARENT},
	{"SenderId", ROLE_PARENT},
	{"CpuNumber", ROLE_ID},
	{"StackProcess", ROLE_ID},
	{"StackThread", ROLE_ID},
	{"IssuingThreadId", ROLE_ID},
	{"PID", ROLE_ID},
	{"TTID", ROLE_ID},
	{"UniqueProcessKey", ROLE_KEY},
};

static enum role role_of(const struct ptl_field *field)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(field->name, names[i].name) == 0)
			return field->array ? ROLE_NONE : names[i].role;
	return ROLE_NONE;
}

/* Returns the bytes of a field of fixed size; 0 for other fields. */
static size_t size_of(const struct ptl_field *field)
{
	static const uint8_t sizes[] = {
		[PTL_TYPE_U8] = 1,      [PTL_TYPE_I8] = 1,   [PTL_TYPE_U16] = 2,       [PTL_TYPE_I16] = 2,
		[PTL_TYPE_U32] = 4,     [PTL_TYPE_I32] = 4,  [PTL_TYPE_U64] = 8,       [PTL_TYPE_I64] = 8,
		[PTL_TYPE_F32] = 4,     [PTL_TYPE_F64] = 8,  [PTL_TYPE_BOOL8] = 1,     [PTL_TYPE_BOOL32] = 4,
		[PTL_TYPE_POINTER] = 8, [PTL_TYPE_TIME] = 8, [PTL_TYPE_WALL_TIME] = 8, [PTL_TYPE_GUID] = 16,
	};
	const size_t size = field->type < sizeof(sizes) ? sizes[field->type] : 0;

	if (field->array == PTL_ARRAY_FIXED)
		return size * field->array_length;
	return field->array ? 0 : field->type == PTL_TYPE_BYTES ? field->length : size;
}

static bool is_schema_of(const struct ptl_schema *schema, const struct ptl_descriptor *descriptor)
{
	return schema->opcode == descriptor->opcode && schema->version == descriptor->version &&
	       schema->id == descriptor->id &&
	       memcmp(&schema->provider, &descriptor->provider, sizeof(schema->provider)) == 0;
}

/* Finds the schema of a Windows kernel event, which the trace contains. */
static const struct ptl_schema *find_etw(struct ptl_relogger_input *input, const struct ptl_descriptor *descriptor)
{
	const struct ptl_schema *schema = descriptor->id ? NULL : ptl_schema_find(input->trace, descriptor);

	if (!schema || strcmp(schema->provider_name, ETW_KERNEL) != 0)
		return NULL;
	return input->ids.schema = schema;
}

/* Finds the schema of an event. Checks the last result first, as events repeat. */
static const struct ptl_schema *find_schema(struct ptl_relogger_input *input, const struct ptl_descriptor *descriptor)
{
	size_t count;
	const struct ptl_schema *const *schemas = ptl_kernel_schemas(&count);

	if (input->ids.schema && is_schema_of(input->ids.schema, descriptor))
		return input->ids.schema;
	for (size_t i = 0; i < count; i++)
		if (is_schema_of(schemas[i], descriptor))
			return input->ids.schema = schemas[i];
	return find_etw(input, descriptor);
}

static int change_field(const struct ptl_relogger_input *input, enum role role, uint8_t *at, size_t size)
{
	uint64_t value = common_load_le(at, size);
	uint32_t id = (uint32_t)value;
	int status = 0;

	if (role == ROLE_KEY) {
		if (value)
			value += (uint64_t)input->machines.recording << 48;
	} else if (value <= UINT32_MAX && !(role == ROLE_PARENT && value == 0)) {
		status = ptl_relogger_map_id(input, &id);
		value = id;
	}
	common_store_le(at, value, size);
	return status;
}

static int change_payload(const struct ptl_relogger_input *input, const struct ptl_schema *schema, uint8_t *payload,
			  size_t size)
{
	size_t at = 0;
	int status = 0;

	for (size_t i = 0; !status && i < schema->field_count; i++) {
		const size_t length = size_of(&schema->fields[i]);
		const enum role role = role_of(&schema->fields[i]);

		if (!length || length > size - at)
			break;
		if (role != ROLE_NONE && length <= 8)
			status = change_field(input, role, payload + at, length);
		at += length;
	}
	return status;
}

int ptl_relogger_map_id(const struct ptl_relogger_input *input, uint32_t *id)
{
	const uint32_t machine = input->machines.count > 1 ? *id / PTL_MACHINE_IDS : 0;
	const uint32_t own = input->machines.count > 1 ? *id % PTL_MACHINE_IDS : *id;

	if (!input->machines.renumbered || *id == PTL_NO_ID || machine >= input->machines.count)
		return 0;
	if (own >= PTL_MACHINE_IDS)
		return common_fail(PTL_UNSUPPORTED,
				   "%s: the id %" PRIu32 " is too large to be kept apart from other machines'",
				   input->name, *id);
	*id = input->machines.indexes[machine] * PTL_MACHINE_IDS + own;
	return 0;
}

int ptl_relogger_map_event(struct ptl_relogger_input *input, struct ptl_event *event)
{
	const struct ptl_schema *schema = ptl_event_is_raw(event) ? NULL : find_schema(input, &event->descriptor);
	struct ptl_bytes *payload = &input->ids.payload;
	int status = ptl_relogger_map_id(input, &event->pid);

	if (!status)
		status = ptl_relogger_map_id(input, &event->tid);
	if (!status)
		status = ptl_relogger_map_id(input, &event->cpu);
	if (status || !schema)
		return status;
	payload->size = 0;
	if (!common_bytes_grow(payload, event->payload_size + 1)) {
		payload->failed = false;
		return common_fail_memory("a payload", event->payload_size);
	}
	if (event->payload_size)
		memcpy(payload->data, event->payload, event->payload_size);
	event->payload = payload->data;
	return change_payload(input, schema, payload->data, event->payload_size);
}
