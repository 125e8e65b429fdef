/* SPDX-License-Identifier: BSD-2-Clause */
/* Attributes of perf events. */
#include "import/perf/attr.h"

#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/vector.h"

#define ATTRS_MAX 65536u
#define IDS_MAX (1u << 20)

void perf_attrs_free(struct perf_attrs *attrs)
{
	common_hash_map_free(&attrs->ids);
	free(attrs->list);
	*attrs = (struct perf_attrs){0};
}

static int add_attr(struct perf_attrs *attrs, const uint8_t *data, size_t size)
{
	struct perf_attr *attr;

	if (size < PERF_ATTR_SIZE_MIN)
		return common_fail(PTL_CORRUPT, "an attribute of %zu bytes", size);
	if (attrs->count == ATTRS_MAX)
		return common_fail(PTL_NO_MEMORY, "more than %u attributes", ATTRS_MAX);
	if (COMMON_VECTOR_RESERVE(attrs->list, attrs->capacity, attrs->count + 1, "attributes"))
		return PTL_NO_MEMORY;
	attr = &attrs->list[attrs->count++];
	*attr = (struct perf_attr){
		.type = common_load32(data + PERF_ATTR_TYPE),
		.config = common_load64(data + PERF_ATTR_CONFIG),
		.sample_type = common_load64(data + PERF_ATTR_SAMPLE_TYPE),
		.read_format = common_load64(data + PERF_ATTR_READ_FORMAT),
		.flags = common_load64(data + PERF_ATTR_FLAGS),
		.clockid = -1,
	};
	if (!(attr->flags & PERF_ATTR_FLAG_FREQ))
		attr->sample_period = common_load64(data + PERF_ATTR_SAMPLE_PERIOD);
	if (size >= PERF_ATTR_REGS_USER + 8) {
		attr->branches = common_load64(data + PERF_ATTR_BRANCHES);
		attr->registers = common_load64(data + PERF_ATTR_REGS_USER);
	}
	if (size >= PERF_ATTR_REGS_INTR + 8)
		attr->interrupt_registers = common_load64(data + PERF_ATTR_REGS_INTR);
	attrs->have_stacks |= (attr->sample_type & PERF_SAMPLE_STACK_USER) != 0;
	perf_attr_name(attr);
	if (attr->flags & PERF_ATTR_FLAG_USE_CLOCKID && size >= PERF_ATTR_CLOCKID + 4)
		attr->clockid = (int32_t)common_load32(data + PERF_ATTR_CLOCKID);
	return 0;
}

/* Adds ids of the last added attribute. */
static int add_ids(struct perf_attrs *attrs, const uint8_t *data, size_t count)
{
	int status = 0;

	if (attrs->ids.used + count > IDS_MAX)
		return common_fail(PTL_NO_MEMORY, "more than %u ids of events", IDS_MAX);
	for (size_t i = 0; !status && i < count; i++)
		status = common_hash_map_put(&attrs->ids, common_load64(data + 8 * i), attrs->count - 1);
	return status;
}

static int read_ids(struct perf_attrs *attrs, const struct perf_file *file, const uint8_t *section)
{
	const uint64_t offset = common_load64(section), size = common_load64(section + 8);
	uint8_t *data;
	int status;

	if (size > (uint64_t)IDS_MAX * 8)
		return common_fail(PTL_CORRUPT, "ids of events: %llu bytes", (unsigned long long)size);
	if (!size)
		return 0;
	data = malloc(size);
	if (!data)
		return common_fail_memory("ids of events", size);
	status = perf_file_read(file, offset, data, size);
	if (!status)
		status = add_ids(attrs, data, size / 8);
	free(data);
	return status;
}

void perf_attrs_event_type(struct perf_attrs *attrs, const uint8_t *data, size_t size)
{
	const uint64_t number = size > 8 ? common_load64(data) : 0;

	for (size_t i = 0; size > 8 && data[8] && i < attrs->count; i++)
		if (attrs->list[i].type == PERF_TYPE_TRACEPOINT && attrs->list[i].config == number)
			perf_attrs_name(attrs, i, (const char *)data + 8, strnlen((const char *)data + 8, size - 8));
}

/* Reads the table of event types. Stops silently at a truncated entry: the table only has names. */
static int read_event_types(struct perf_attrs *attrs, const struct perf_file *file)
{
	const struct perf_section table = perf_file_event_types(file);
	uint8_t data[PERF_EVENT_TYPE_SIZE];
	int status = 0;

	for (uint64_t at = 0; !status && at < table.size && table.size - at >= sizeof(data); at += sizeof(data)) {
		status = table.offset > UINT64_MAX - at ? PTL_TRUNCATED
							: perf_file_read(file, table.offset + at, data, sizeof(data));
		if (!status)
			perf_attrs_event_type(attrs, data, sizeof(data));
	}
	return status == PTL_SYSTEM ? status : 0;
}

int perf_attrs_read(struct perf_attrs *attrs, const struct perf_file *file)
{
	size_t entry;
	const struct perf_section table = perf_file_attrs(file, &entry);
	uint8_t data[4096];
	int status = 0;

	if (perf_file_is_pipe(file))
		return 0;
	for (uint64_t at = 0; !status && at + entry <= table.size && attrs->count < ATTRS_MAX; at += entry) {
		status = perf_file_read(file, table.offset + at, data, entry);
		if (!status)
			status = add_attr(attrs, data, entry - PERF_SECTION_SIZE);
		if (!status)
			status = read_ids(attrs, file, data + entry - PERF_SECTION_SIZE);
	}
	return status ? status : read_event_types(attrs, file);
}

int perf_attrs_record(struct perf_attrs *attrs, const struct perf_record *record)
{
	const size_t size = record->size >= 8 ? common_load32(record->body + PERF_ATTR_SIZE) : 0;
	int status;

	if (size < PERF_ATTR_SIZE_MIN || size > record->size)
		return common_fail(PTL_CORRUPT, "offset %llu: an attribute of %zu bytes in a record of %zu",
				   (unsigned long long)record->offset, size, record->size);
	status = add_attr(attrs, record->body, size);
	return status ? status : add_ids(attrs, record->body + size, (record->size - size) / 8);
}

void perf_attrs_name(struct perf_attrs *attrs, size_t index, const char *name, size_t length)
{
	if (index >= attrs->count)
		return;
	if (length >= PERF_NAME_MAX)
		length = PERF_NAME_MAX - 1;
	memcpy(attrs->list[index].name, name, length);
	attrs->list[index].name[length] = 0;
}
