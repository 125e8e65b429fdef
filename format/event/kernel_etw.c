/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes Windows process, thread and image events to plain structures: docs/format.md, section 11. */
#include "format/event/kernel_etw.h"

#include <string.h>
#include <sys/mman.h>

#include "common/error.h"
#include "common/text/utf16.h"
#include "format/event/kernel.h"

#define OPCODE_LAST 4 /* last opcode of begin, end and rundown of processes and threads */

static int other(const struct ptl_event *event)
{
	return common_fail(PTL_NOT_OURS, "opcode %u means something else", event->descriptor.opcode);
}

static void skip_bytes(struct common_cursor *cursor, size_t size)
{
	common_read_bytes(cursor, size);
}

/* Copies a zero-terminated string into storage. Returns the string's offset in storage. */
static size_t take_utf8(struct common_cursor *cursor, struct ptl_bytes *storage)
{
	const uint8_t *start = cursor->data + cursor->at;
	const size_t left = common_cursor_left(cursor), at = storage->size;
	const uint8_t *end = left ? memchr(start, 0, left) : NULL;

	if (!end) {
		cursor->failed = true;
		return at;
	}
	common_read_bytes(cursor, (size_t)(end - start) + 1);
	common_write_bytes(storage, start, (size_t)(end - start) + 1);
	return at;
}

static void skip_utf8(struct common_cursor *cursor)
{
	const uint8_t *start = cursor->data + cursor->at;
	const uint8_t *end = common_cursor_left(cursor) ? memchr(start, 0, common_cursor_left(cursor)) : NULL;

	if (end)
		common_read_bytes(cursor, (size_t)(end - start) + 1);
	else
		cursor->failed = true;
}

static int finish_etw(const struct common_cursor *cursor, const struct ptl_bytes *storage)
{
	if (storage->failed)
		return common_fail_memory("strings of an event", storage->size);
	if (cursor->failed)
		return common_fail(PTL_TRUNCATED, "the payload of %zu bytes ends too early", cursor->size);
	return 0;
}

int format_etw_process_decode(const struct ptl_event *event, struct ptl_bytes *storage, struct ptl_process_event *data)
{
	struct common_cursor cursor = common_cursor(event->payload, event->payload_size);
	const uint8_t version = event->descriptor.version;
	size_t name, command = 0;
	int status;

	if (!event->descriptor.opcode || event->descriptor.opcode > OPCODE_LAST)
		return other(event);
	*data = (struct ptl_process_event){.begins_empty = true};
	if (version == 0) {
		data->process_id = (uint32_t)common_read64(&cursor);
		data->parent_id = (uint32_t)common_read64(&cursor);
	} else {
		if (version >= 2)
			data->unique_key = common_read64(&cursor);
		else
			skip_bytes(&cursor, 8); /* PageDirectoryBase */
		data->process_id = common_read32(&cursor);
		data->parent_id = common_read32(&cursor);
		skip_bytes(&cursor, 4); /* SessionId */
		data->exit_status = (int32_t)common_read32(&cursor);
		data->has_exit_status = event->descriptor.opcode == PTL_OPCODE_END;
		if (version >= 3)
			skip_bytes(&cursor, version >= 4 ? 12 : 8); /* DirectoryTableBase, Flags */
	}
	skip_utf8(&cursor); /* UserSID */
	storage->size = 0;
	name = take_utf8(&cursor, storage);
	command = storage->size;
	if (version >= 2)
		common_read_utf16(&cursor, storage);
	else
		common_write_le(storage, 0, 1);
	status = finish_etw(&cursor, storage);
	if (status)
		return status;
	data->image_file_name = (const char *)storage->data + name;
	data->command_line = (const char *)storage->data + command;
	return format_kernel_check_name(data->image_file_name);
}

int format_etw_thread_decode(const struct ptl_event *event, struct ptl_bytes *storage, struct ptl_thread_event *data)
{
	struct common_cursor cursor = common_cursor(event->payload, event->payload_size);
	const uint8_t version = event->descriptor.version;
	uint32_t first;
	int status;

	if (!event->descriptor.opcode || event->descriptor.opcode > OPCODE_LAST)
		return other(event);
	first = common_read32(&cursor);
	*data = (struct ptl_thread_event){.process_id = first, .thread_id = common_read32(&cursor)};
	if (version == 0) {
		data->process_id = data->thread_id;
		data->thread_id = first;
	}
	if (version >= 2 || (version == 1 && event->descriptor.opcode % 2)) {
		skip_bytes(&cursor, 40); /* StackBase to StartAddr */
		data->start_address = common_read64(&cursor);
	}
	storage->size = 0;
	if (version >= 3)
		skip_bytes(&cursor, 16); /* TebBase to ThreadFlags */
	/* Windows 11 writes thread names also in version 3. */
	if (version >= 4 || (version == 3 && common_cursor_left(&cursor)))
		common_read_utf16(&cursor, storage);
	else
		common_write_le(storage, 0, 1);
	status = finish_etw(&cursor, storage);
	if (status)
		return status;
	data->name = (const char *)storage->data;
	return format_kernel_check_name(data->name);
}

int format_etw_switch_decode(const struct ptl_event *event, struct ptl_switch_event *data)
{
	struct common_cursor cursor = common_cursor(event->payload, event->payload_size);

	*data = (struct ptl_switch_event){.new_thread = common_read32(&cursor)};
	data->old_thread = common_read32(&cursor);
	return cursor.failed ? common_fail(PTL_TRUNCATED, "the payload ends within a field") : 0;
}

/*
 * Reads the field that the .etl importer appends to the fields of Windows: the identity of the image's debug
 * information.
 */
static void take_build_id(struct common_cursor *cursor, struct ptl_image_event *data)
{
	const size_t size = common_cursor_left(cursor) >= 2 ? common_read16(cursor) : 0;
	const uint8_t *bytes;

	if (!size || size > PTL_BUILD_ID_MAX || size > common_cursor_left(cursor))
		return;
	bytes = common_read_bytes(cursor, size);
	memcpy(data->build_id, bytes, size);
	data->build_id_size = size;
}

int format_etw_image_decode(const struct ptl_event *event, struct ptl_bytes *storage, struct ptl_image_event *data)
{
	struct common_cursor cursor = common_cursor(event->payload, event->payload_size);
	const uint8_t version = event->descriptor.version, opcode = event->descriptor.opcode;
	int status;

	if (opcode != PTL_OPCODE_LOAD && (opcode < PTL_OPCODE_UNLOAD || opcode > PTL_OPCODE_END_RUNDOWN))
		return other(event);
	*data = (struct ptl_image_event){
		.base = common_read64(&cursor), .process_id = event->pid, .protection = PROT_READ | PROT_EXEC};
	data->size = version ? common_read64(&cursor) : common_read32(&cursor);
	if (version)
		data->process_id = common_read32(&cursor);
	data->default_base = data->base;
	if (version >= 2) {
		skip_bytes(&cursor, 4); /* ImageChecksum */
		data->time_date_stamp = common_read32(&cursor);
		skip_bytes(&cursor, 4);
		data->default_base = common_read64(&cursor);
		skip_bytes(&cursor, 16); /* Reserved1 to Reserved4 */
	}
	storage->size = 0;
	common_read_utf16(&cursor, storage);
	if (version >= 2)
		take_build_id(&cursor, data);
	status = finish_etw(&cursor, storage);
	if (status)
		return status;
	data->file_name = (const char *)storage->data;
	return format_kernel_check_name(data->file_name);
}
