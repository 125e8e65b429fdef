/* SPDX-License-Identifier: BSD-2-Clause */
/* Rewrites payloads for the trace's schemas. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/sid.h"
#include "import/etl/import.h"
#include "import/etl/schema/schema.h"
#include "import/etl/socket.h"

#define COUNT_MAX 0xffffu
#define DEPTH_MAX 8u
#define FIELDS_WRITTEN_MAX 1000000u /* maximum elements written; a larger payload is cut */

struct rewriting {
	const struct etl_import *import;
	const struct etl_schema *schema;
	struct common_cursor in;
	unsigned pointer_size;
	struct ptl_bytes *out;
	uint64_t time;
	size_t written;
	bool lost;
	uint64_t *values; /* values of fields, if the schema refers to fields */
};

/* ---- single values ------------------------------------------------------------------------------------- */

static uint64_t take_number(struct rewriting *work, size_t from, size_t to)
{
	const uint64_t value = common_read_le(&work->in, from);

	if (!work->in.failed)
		common_write_le(work->out, value, to);
	return value;
}

static void take_bytes(struct rewriting *work, size_t size)
{
	const uint8_t *bytes = common_read_bytes(&work->in, size);

	if (bytes && size)
		common_write_bytes(work->out, bytes, size);
}

/* Copies counted units, with a u16 count. */
static void take_counted(struct rewriting *work, size_t units, size_t unit)
{
	const uint8_t *bytes;

	if (units > COUNT_MAX || units * unit > common_cursor_left(&work->in)) {
		work->in.failed = true;
		return;
	}
	bytes = common_read_bytes(&work->in, units * unit);
	common_write_le(work->out, units, 2);
	if (units)
		common_write_bytes(work->out, bytes, units * unit);
}

/* Copies a string up to its zero, or to the end of the payload. */
static void take_string(struct rewriting *work, size_t unit)
{
	const uint8_t *start = work->in.data + work->in.at;
	const size_t left = common_cursor_left(&work->in);
	size_t size = 0;

	while (size + unit <= left && common_load_le(start + size, unit))
		size += unit;
	if (!left) {
		work->in.failed = true;
		return;
	}
	take_bytes(work, size);
	common_write_le(work->out, 0, unit);
	common_read_bytes(&work->in, size + unit <= left ? unit : left - size);
}

/* As take_string for UTF-16, with device names replaced by drive letters. */
static void take_path(struct rewriting *work)
{
	const uint8_t *start = work->in.data + work->in.at;
	const size_t left = common_cursor_left(&work->in);
	size_t units = 0;

	while (2 * units + 2 <= left && common_load16(start + 2 * units))
		units++;
	if (!left) {
		work->in.failed = true;
		return;
	}
	etl_paths_write(&work->import->paths, start, units, work->out);
	common_write_le(work->out, 0, 2);
	common_read_bytes(&work->in, 2 * units + 2 <= left ? 2 * units + 2 : left);
}

#define PROCESS_AT 16u /* offset of the process in payloads of images, from version 1 on; the base has offset 0 */

static void take_image_id(struct rewriting *work)
{
	const struct etl_image_ids *ids = &work->import->image_ids;
	const uint8_t *written = work->out->data;
	const struct etl_image_id *id = NULL;

	if (!work->out->failed && work->out->size >= PROCESS_AT + 4)
		id = etl_image_ids_find(ids, common_load32(written + PROCESS_AT), common_load64(written), work->time);
	etl_image_id_write(ids, id, work->out);
}

/* Writes the file name for the preceding FileKey, else for the FileObject. */
static void take_file_name(struct rewriting *work)
{
	static const char *const keys[] = {"FileKey", "FileObject"};
	const uint8_t *name = NULL;
	size_t units = 0;

	for (size_t key = 0; key < 2 && !units; key++)
		for (size_t i = 0; i < work->schema->field_count && !units; i++)
			if (strcmp(work->schema->fields[i].name, keys[key]) == 0)
				units = etl_file_names_find(&work->import->file_names, work->values[i], work->time,
							    &name);
	if (units)
		etl_paths_write(&work->import->paths, name, units, work->out);
	common_write_le(work->out, 0, 2);
}

static void take_reversed(struct rewriting *work, size_t unit)
{
	const uint16_t size = common_read16(&work->in);

	take_counted(work, (size_t)(uint16_t)(size << 8 | size >> 8) / unit, unit);
}

static void take_filetime(struct rewriting *work)
{
	const uint64_t value = common_read64(&work->in);

	if (!work->in.failed)
		common_write_le(work->out, (uint64_t)etl_clock_filetime(value), 8);
}

static void take_systemtime(struct rewriting *work)
{
	const uint8_t *at = common_read_bytes(&work->in, 16);

	if (at)
		common_write_le(work->out, (uint64_t)etl_clock_systemtime(at), 8);
}

static void take_ticks(struct rewriting *work)
{
	const uint64_t value = common_read64(&work->in);

	if (!work->in.failed)
		common_write_le(work->out, etl_clock_time(work->import, value), 8);
}

/* Writes a SID as text: S-1-5-21-... */
static void take_sid(struct rewriting *work)
{
	common_sid_read(&work->in, work->out);
	if (!work->in.failed)
		common_write_le(work->out, 0, 1);
}

/* Reads a TOKEN_USER and the SID behind. A first pointer of 0 stands alone, and means no user. */
static void take_wbem_sid(struct rewriting *work)
{
	if (common_cursor_left(&work->in) >= 4 && !common_load32(work->in.data + work->in.at)) {
		common_read32(&work->in);
		common_write_le(work->out, 0, 1);
		return;
	}
	common_read_bytes(&work->in, (size_t)2 * work->pointer_size);
	take_sid(work);
}

/* ---- fields --------------------------------------------------------------------------------------------- */

static uint64_t element_count_of(const struct rewriting *work, uint8_t is, uint32_t value, size_t index)
{
	if (is == ETL_SIZE_FIELD)
		return value < index && work->values ? work->values[value] : 0;
	return value;
}

/* Copies a string in a buffer of fixed size; drops bytes behind the zero. */
static void take_room(struct rewriting *work, size_t units, size_t unit)
{
	const uint8_t *bytes = units > COUNT_MAX ? NULL : common_read_bytes(&work->in, units * unit);
	size_t used = 0;

	if (!bytes) {
		work->in.failed = true;
		return;
	}
	while (used < units && common_load_le(bytes + used * unit, unit))
		used++;
	common_write_le(work->out, used, 2);
	if (used)
		common_write_bytes(work->out, bytes, used * unit);
}

static void take_sized(struct rewriting *work, const struct etl_field *field, size_t index)
{
	const uint64_t length = element_count_of(work, field->length_is, field->length, index);
	const size_t unit = field->in == ETL_IN_UTF16 ? 2 : 1;

	if (length > common_cursor_left(&work->in)) {
		work->in.failed = true;
		return;
	}
	if (field->in == ETL_IN_BINARY && field->length_is == ETL_SIZE_FIXED)
		take_bytes(work, (size_t)length);
	else if (field->length_is == ETL_SIZE_FIXED)
		take_room(work, (size_t)length, unit);
	else
		take_counted(work, (size_t)length, unit);
}

static void take_socket(struct rewriting *work, uint64_t size)
{
	const uint8_t *address = size > COUNT_MAX ? NULL : common_read_bytes(&work->in, (size_t)size);

	if (address)
		etl_socket_write(address, (size_t)size, work->out);
	else
		work->in.failed = true;
}

/* Sizes of numbers that are copied unchanged. */
static const uint8_t number_sizes[] = {
	[ETL_IN_INT8] = 1,    [ETL_IN_UINT8] = 1, [ETL_IN_INT16] = 2,  [ETL_IN_UINT16] = 2, [ETL_IN_INT32] = 4,
	[ETL_IN_UINT32] = 4,  [ETL_IN_INT64] = 8, [ETL_IN_UINT64] = 8, [ETL_IN_FLOAT] = 4,  [ETL_IN_DOUBLE] = 8,
	[ETL_IN_BOOLEAN] = 4, [ETL_IN_HEX32] = 4, [ETL_IN_HEX64] = 8,
};

static void take_other_field(struct rewriting *work, const struct etl_field *field)
{
	switch (field->in) {
	case ETL_IN_UTF16:
		take_string(work, 2);
		break;
	case ETL_IN_OPTIONAL_UTF16:
		if (common_cursor_left(&work->in))
			take_string(work, 2);
		else
			common_write_le(work->out, 0, 2);
		break;
	case ETL_IN_ANSI:
		take_string(work, 1);
		break;
	case ETL_IN_GUID:
		take_bytes(work, sizeof(struct ptl_guid));
		break;
	case ETL_IN_FILETIME:
		take_filetime(work);
		break;
	case ETL_IN_SYSTEMTIME:
		take_systemtime(work);
		break;
	case ETL_IN_SID:
		take_sid(work);
		break;
	case ETL_IN_WBEM_SID:
		take_wbem_sid(work);
		break;
	case ETL_IN_COUNTED_UTF16:
	case ETL_IN_MOF_COUNTED_UTF16:
		take_counted(work, common_read16(&work->in) / 2, 2);
		break;
	case ETL_IN_COUNTED_ANSI:
	case ETL_IN_MOF_COUNTED_ANSI:
	case ETL_IN_COUNTED_BINARY:
		take_counted(work, common_read16(&work->in), 1);
		break;
	case ETL_IN_COUNTED_SOCKET:
		take_socket(work, common_read16(&work->in));
		break;
	case ETL_IN_REVERSED_UTF16:
		take_reversed(work, 2);
		break;
	case ETL_IN_REVERSED_ANSI:
		take_reversed(work, 1);
		break;
	case ETL_IN_REST_UTF16:
		take_counted(work, common_cursor_left(&work->in) / 2, 2);
		break;
	case ETL_IN_REST_ANSI:
		take_counted(work, common_cursor_left(&work->in), 1);
		break;
	case ETL_IN_DUMP:
		take_counted(work, common_read32(&work->in), 1);
		break;
	case ETL_IN_PATH:
		take_path(work);
		break;
	case ETL_IN_IMAGE_ID:
		take_image_id(work);
		break;
	case ETL_IN_PDB:
		break;
	case ETL_IN_FILE_NAME:
		take_file_name(work);
		break;
	case ETL_IN_TICKS:
		take_ticks(work);
		break;
	case ETL_IN_REST:
		take_bytes(work, common_cursor_left(&work->in));
		break;
	default:
		work->in.failed = true;
	}
}

static uint64_t take_value(struct rewriting *work, const struct etl_field *field, size_t index)
{
	if (field->in < sizeof(number_sizes) && number_sizes[field->in])
		return take_number(work, number_sizes[field->in], number_sizes[field->in]);
	if (field->in == ETL_IN_POINTER || field->in == ETL_IN_SIZE)
		return take_number(work, work->pointer_size, 8);
	if (field->in == ETL_IN_CHAR8 || field->in == ETL_IN_CHAR16)
		return take_number(work, field->in == ETL_IN_CHAR8 ? 1 : 2, field->in == ETL_IN_CHAR8 ? 1 : 2);
	if (field->in == ETL_IN_SOCKET)
		take_socket(work, element_count_of(work, field->length_is, field->length, index));
	else if (field->length_is != ETL_SIZE_OWN || field->in == ETL_IN_BINARY)
		take_sized(work, field, index);
	else
		take_other_field(work, field);
	return 0;
}

static void take_fields(struct rewriting *work, size_t from, size_t end, unsigned depth);

static void take_element(struct rewriting *work, size_t index, unsigned depth)
{
	const struct etl_field *field = &work->schema->fields[index];
	uint64_t value = 0;

	if (++work->written > FIELDS_WRITTEN_MAX || depth > DEPTH_MAX || work->out->size > PTL_PAYLOAD_MAX)
		work->in.failed = true;
	else if (field->in == ETL_IN_STRUCT)
		take_fields(work, index + 1, index + 1 + field->members, depth + 1);
	else
		value = take_value(work, field, index);
	if (work->values)
		work->values[index] = value;
}

/*
 * Returns the bytes of an element that is copied unchanged, so that many elements are copied at once; 0: the element is
 * converted.
 */
static size_t plain_size(const struct rewriting *work, const struct etl_field *field)
{
	if (field->in < sizeof(number_sizes) && number_sizes[field->in])
		return number_sizes[field->in];
	return (field->in == ETL_IN_POINTER || field->in == ETL_IN_SIZE) && work->pointer_size == 8 ? 8 : 0;
}

static void take_field(struct rewriting *work, size_t index, unsigned depth)
{
	const struct etl_field *field = &work->schema->fields[index];
	uint64_t count = 1;

	if (field->count_is == ETL_SIZE_PREFIX)
		count = common_read16(&work->in);
	else if (field->count_is == ETL_SIZE_REST)
		count = common_cursor_left(&work->in) / work->pointer_size;
	else if (field->count_is != ETL_SIZE_OWN)
		count = element_count_of(work, field->count_is, field->count, index);
	if (count > COUNT_MAX)
		work->in.failed = true;
	if (!work->in.failed && field->count_is != ETL_SIZE_OWN && field->count_is != ETL_SIZE_FIXED)
		common_write_le(work->out, count, 2);
	if (count > 1 && plain_size(work, field) && count * plain_size(work, field) <= common_cursor_left(&work->in)) {
		take_bytes(work, count * plain_size(work, field));
		return;
	}
	for (uint64_t i = 0; i < count && !work->in.failed; i++)
		take_element(work, index, depth);
}

static void take_fields(struct rewriting *work, size_t from, size_t end, unsigned depth)
{
	for (size_t i = from; i < end && i < work->schema->field_count && !work->in.failed; i++) {
		take_field(work, i, depth);
		if (work->schema->fields[i].in == ETL_IN_STRUCT)
			i += work->schema->fields[i].members;
	}
}

/* ---- whole payloads -------------------------------------------------------------------------------------- */

/* Whether the payload already fits the trace's schema. */
static bool is_as_is(const struct etl_schema *schema, const struct etl_record *record)
{
	const size_t size = record->payload_size;
	const uint8_t *end = record->payload + size;

	if (!schema->as_is[record->pointer_size == 8] || size < schema->fixed)
		return false;
	if (schema->last == PTL_TYPE_UTF8)
		return size > schema->fixed && !end[-1];
	if (schema->last == PTL_TYPE_UTF16)
		return size > schema->fixed + 1 && (size - schema->fixed) % 2 == 0 && !end[-1] && !end[-2];
	return true;
}

int etl_payload(const struct etl_import *import, const struct etl_schema *schema, const struct etl_record *record,
		struct ptl_bytes *storage, const uint8_t **payload, size_t *size, bool *lost)
{
	uint64_t values[ETL_FIELDS_MAX];
	struct rewriting work = {
		.import = import,
		.schema = schema,
		.in = common_cursor(record->payload, record->payload_size),
		.pointer_size = record->pointer_size,
		.time = record->time,
		.out = storage,
		.values = schema->refers ? values : NULL,
	};

	*lost = false;
	if (is_as_is(schema, record)) {
		*payload = record->payload;
		*size = record->payload_size;
		return 0;
	}
	if (schema->refers)
		memset(values, 0, schema->field_count * sizeof(values[0]));
	storage->size = 0;
	take_fields(&work, 0, schema->field_count, 0);
	*lost = work.in.failed;
	/* Fields of newer versions behind the last known field. */
	if (!work.in.failed && common_cursor_left(&work.in))
		take_bytes(&work, common_cursor_left(&work.in));
	if (storage->failed)
		return common_fail_memory("a payload", storage->size);
	if (storage->size > PTL_PAYLOAD_MAX)
		storage->size = PTL_PAYLOAD_MAX;
	*payload = storage->data;
	*size = storage->size;
	return 0;
}
