/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes events of the kernel provider's classes to plain structures: docs/format.md, section 11. */
#include <ptl/kernel.h>

#include <string.h>

#include "common/error.h"
#include "common/text/guid.h"
#include "common/text/utf16.h"
#include "format/event/kernel.h"
#include "format/event/kernel_etw.h"

static int check_class(const struct ptl_event *event, const struct ptl_guid *provider, uint8_t version)
{
	if (!common_guid_equal(&event->descriptor.provider, provider))
		return common_fail(PTL_NOT_OURS, "the event is of another class");
	if (event->descriptor.version != version)
		return common_fail(PTL_UNSUPPORTED, "version %u of the event, not %u", event->descriptor.version,
				   version);
	return 0;
}

/*
 * Whether the event is of the class and in the importer's form of Windows events. The layout of a raw event is unknown.
 */
static bool is_etw(const struct ptl_event *event, const struct ptl_guid *provider)
{
	return event->descriptor.version < FORMAT_KERNEL_OWN &&
	       common_guid_equal(&event->descriptor.provider, provider) && !ptl_event_is_raw(event);
}

/* Checks for failures. Bytes left over are no failure, since newer minor versions may append fields. */
static int finish_decoding(const struct common_cursor *cursor, const struct ptl_bytes *storage)
{
	if (storage && storage->failed)
		return common_fail_memory("strings of an event", storage->size);
	if (cursor->failed)
		return common_fail(PTL_TRUNCATED, "the payload of %zu bytes ends too early", cursor->size);
	return 0;
}

static void skip_bytes(struct common_cursor *cursor, size_t size)
{
	common_read_bytes(cursor, size);
}

/* Returns the zero-terminated string at the cursor, in place; NULL without a terminating zero. */
static const char *read_utf8(struct common_cursor *cursor)
{
	const uint8_t *start = cursor->data + cursor->at;
	size_t left = common_cursor_left(cursor);
	const uint8_t *end = left ? memchr(start, 0, left) : NULL;

	if (!end) {
		cursor->failed = true;
		return NULL;
	}
	return (const char *)common_read_bytes(cursor, (size_t)(end - start) + 1);
}

int ptl_process_decode(const struct ptl_event *event, struct ptl_bytes *storage, struct ptl_process_event *data)
{
	struct common_cursor cursor = common_cursor(event->payload, event->payload_size);
	int status = check_class(event, &PTL_PROVIDER_PROCESS, FORMAT_PROCESS_VERSION);
	const char *name;
	size_t command;

	if (is_etw(event, &PTL_PROVIDER_PROCESS))
		return format_etw_process_decode(event, storage, data);
	if (status < 0)
		return status;
	*data = (struct ptl_process_event){.unique_key = common_read64(&cursor)};
	data->process_id = common_read32(&cursor);
	data->parent_id = common_read32(&cursor);
	skip_bytes(&cursor, 4); /* SessionId */
	data->exit_status = (int32_t)common_read32(&cursor);
	skip_bytes(&cursor, 12); /* DirectoryTableBase, UserSID */
	name = read_utf8(&cursor);
	storage->size = 0;
	if (name)
		common_write_bytes(storage, name, strlen(name) + 1);
	command = storage->size;
	common_read_utf16(&cursor, storage);
	data->has_exit_status = common_read32(&cursor) & FORMAT_PROCESS_HAS_EXIT_STATUS;
	status = finish_decoding(&cursor, storage);
	if (status < 0)
		return status;
	data->image_file_name = (const char *)storage->data;
	data->command_line = (const char *)storage->data + command;
	return format_kernel_check_name(data->image_file_name);
}

int ptl_thread_decode(const struct ptl_event *event, struct ptl_bytes *storage, struct ptl_thread_event *data)
{
	struct common_cursor cursor = common_cursor(event->payload, event->payload_size);
	int status = check_class(event, &PTL_PROVIDER_THREAD, FORMAT_THREAD_VERSION);

	if (status == 0 && event->descriptor.opcode == PTL_OPCODE_CONTEXT_SWITCH)
		status = common_fail(PTL_NOT_OURS, "a context switch");
	if (is_etw(event, &PTL_PROVIDER_THREAD))
		return format_etw_thread_decode(event, storage, data);
	if (status < 0)
		return status;
	*data = (struct ptl_thread_event){.process_id = common_read32(&cursor)};
	data->thread_id = common_read32(&cursor);
	skip_bytes(&cursor, 40); /* StackBase to Affinity */
	data->start_address = common_read64(&cursor);
	skip_bytes(&cursor, 16); /* TebBase to ThreadFlags */
	storage->size = 0;
	common_read_utf16(&cursor, storage);
	status = finish_decoding(&cursor, storage);
	if (status < 0)
		return status;
	data->name = (const char *)storage->data;
	return format_kernel_check_name(data->name);
}

int ptl_switch_decode(const struct ptl_event *event, struct ptl_switch_event *data)
{
	struct common_cursor cursor = common_cursor(event->payload, event->payload_size);
	int status = check_class(event, &PTL_PROVIDER_THREAD, FORMAT_THREAD_VERSION);
	const bool etw = is_etw(event, &PTL_PROVIDER_THREAD);

	if ((status == 0 || etw) && event->descriptor.opcode != PTL_OPCODE_CONTEXT_SWITCH)
		return common_fail(PTL_NOT_OURS, "no context switch");
	if (etw)
		return format_etw_switch_decode(event, data);
	if (status < 0)
		return status;
	*data = (struct ptl_switch_event){.new_thread = common_read32(&cursor)};
	data->old_thread = common_read32(&cursor);
	skip_bytes(&cursor, 16);
	return cursor.failed ? common_fail(PTL_TRUNCATED, "the payload ends within a field") : 0;
}

/* Reads counted bytes, at most `limit`. A larger count sets cursor->failed. */
static size_t read_counted(struct common_cursor *cursor, uint8_t *to, size_t limit)
{
	size_t size = common_read16(cursor);
	const uint8_t *bytes = size > limit ? NULL : common_read_bytes(cursor, size);

	if (!bytes) {
		cursor->failed = true;
		return 0;
	}
	memcpy(to, bytes, size);
	return size;
}

static bool read_hash(struct common_cursor *cursor, uint8_t hash[PTL_HASH_SIZE])
{
	size_t size = read_counted(cursor, hash, PTL_HASH_SIZE);

	if (size && size != PTL_HASH_SIZE)
		cursor->failed = true;
	return size == PTL_HASH_SIZE;
}

int ptl_image_decode(const struct ptl_event *event, struct ptl_bytes *storage, struct ptl_image_event *data)
{
	struct common_cursor cursor = common_cursor(event->payload, event->payload_size);
	int status = check_class(event, &PTL_PROVIDER_IMAGE, FORMAT_IMAGE_VERSION);

	if (is_etw(event, &PTL_PROVIDER_IMAGE))
		return format_etw_image_decode(event, storage, data);
	if (status < 0)
		return status;
	*data = (struct ptl_image_event){.base = common_read64(&cursor)};
	data->size = common_read64(&cursor);
	data->process_id = common_read32(&cursor);
	skip_bytes(&cursor, 4); /* ImageCheckSum */
	data->time_date_stamp = common_read32(&cursor);
	skip_bytes(&cursor, 4); /* SignatureLevel, SignatureType, Reserved0 */
	data->default_base = common_read64(&cursor);
	skip_bytes(&cursor, 16); /* Reserved1 to Reserved4 */
	storage->size = 0;
	common_read_utf16(&cursor, storage);
	data->file_offset = common_read64(&cursor);
	data->protection = common_read32(&cursor);
	data->device_major = common_read32(&cursor);
	data->device_minor = common_read32(&cursor);
	data->inode = common_read64(&cursor);
	data->build_id_size = read_counted(&cursor, data->build_id, PTL_BUILD_ID_MAX);
	data->has_code = read_hash(&cursor, data->code);
	data->has_symbols = read_hash(&cursor, data->symbols);
	data->has_debug = read_hash(&cursor, data->debug);
	status = finish_decoding(&cursor, storage);
	if (status < 0)
		return status;
	data->file_name = (const char *)storage->data;
	return format_kernel_check_name(data->file_name);
}

int ptl_code_decode(const struct ptl_event *event, struct ptl_code_event *data)
{
	struct common_cursor cursor = common_cursor(event->payload, event->payload_size);
	int status = check_class(event, &PTL_PROVIDER_CODE, FORMAT_CODE_VERSION);
	const uint8_t *hash;

	if (status < 0)
		return status;
	*data = (struct ptl_code_event){.process_id = common_read32(&cursor)};
	data->base = common_read64(&cursor);
	data->size = common_read64(&cursor);
	hash = common_read_bytes(&cursor, PTL_HASH_SIZE);
	if (hash)
		memcpy(data->code, hash, PTL_HASH_SIZE);
	return finish_decoding(&cursor, NULL);
}

int ptl_signal_decode(const struct ptl_event *event, struct ptl_signal_event *data)
{
	struct common_cursor cursor = common_cursor(event->payload, event->payload_size);
	int status = check_class(event, &PTL_PROVIDER_SIGNAL, FORMAT_SIGNAL_VERSION);

	if (status == 0 && event->descriptor.opcode != PTL_OPCODE_FATAL)
		status = common_fail(PTL_NOT_OURS, "no fatal signal");
	if (status < 0)
		return status;
	*data = (struct ptl_signal_event){.process_id = common_read32(&cursor)};
	data->thread_id = common_read32(&cursor);
	data->signal = common_read32(&cursor);
	data->code = (int32_t)common_read32(&cursor);
	data->sender_id = common_read32(&cursor);
	data->has_address = common_read32(&cursor) & FORMAT_SIGNAL_HAS_ADDRESS;
	data->address = common_read64(&cursor);
	return finish_decoding(&cursor, NULL);
}
