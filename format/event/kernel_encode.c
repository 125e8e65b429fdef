/* SPDX-License-Identifier: BSD-2-Clause */
/* Encodes events of the kernel provider's classes from plain structures: docs/format.md, section 11. */
#include <ptl/kernel.h>

#include <stdbool.h>
#include <string.h>

#include "common/error.h"
#include "common/text/utf16.h"
#include "common/text/utf8.h"
#include "format/event/kernel.h"

static int finish_encoding(struct ptl_bytes *storage, const struct ptl_guid *provider, uint8_t version, uint8_t opcode,
			   struct ptl_event *event)
{
	if (storage->failed)
		return common_fail_memory("event payload", storage->size);
	if (storage->size > PTL_PAYLOAD_MAX)
		return common_fail(PTL_MISUSE, "a payload of %zu bytes is longer than an event may be", storage->size);
	event->descriptor = (struct ptl_descriptor){.provider = *provider, .version = version, .opcode = opcode};
	event->payload = storage->data;
	event->payload_size = storage->size;
	return 0;
}

static const char *text_or_empty(const char *text)
{
	return text ? text : "";
}

/* Writes a path or name, cut to PTL_PATH_MAX bytes. wide: in UTF-16. */
static void write_name(struct ptl_bytes *storage, const char *name, bool wide)
{
	char text[PTL_PATH_MAX + 1];
	const size_t size = name ? common_utf8_fit(name, strlen(name), PTL_PATH_MAX) : 0;

	if (size)
		memcpy(text, name, size);
	text[size] = 0;
	if (wide)
		common_write_utf16(storage, text);
	else
		common_write_bytes(storage, text, size + 1);
}

int ptl_process_encode(const struct ptl_process_event *data, uint8_t opcode, struct ptl_bytes *storage,
		       struct ptl_event *event)
{
	common_write_le(storage, data->unique_key, 8);
	common_write_le(storage, data->process_id, 4);
	common_write_le(storage, data->parent_id, 4);
	common_write_le(storage, 0, 4); /* SessionId */
	common_write_le(storage, (uint32_t)data->exit_status, 4);
	common_write_le(storage, 0, 8); /* DirectoryTableBase */
	common_write_le(storage, 0, 4); /* UserSID: none */
	write_name(storage, data->image_file_name, false);
	common_write_utf16(storage, text_or_empty(data->command_line));
	common_write_le(storage, data->has_exit_status ? FORMAT_PROCESS_HAS_EXIT_STATUS : 0, 4);
	return finish_encoding(storage, &PTL_PROVIDER_PROCESS, FORMAT_PROCESS_VERSION, opcode, event);
}

int ptl_thread_encode(const struct ptl_thread_event *data, uint8_t opcode, struct ptl_bytes *storage,
		      struct ptl_event *event)
{
	common_write_le(storage, data->process_id, 4);
	common_write_le(storage, data->thread_id, 4);
	for (unsigned i = 0; i < 5; i++)
		common_write_le(storage, 0, 8); /* StackBase to Affinity */
	common_write_le(storage, data->start_address, 8);
	common_write_le(storage, 0, 8); /* TebBase */
	common_write_le(storage, 0, 4); /* SubProcessTag */
	common_write_le(storage, 0, 4); /* priorities and flags */
	write_name(storage, data->name, true);
	return finish_encoding(storage, &PTL_PROVIDER_THREAD, FORMAT_THREAD_VERSION, opcode, event);
}

int ptl_switch_encode(const struct ptl_switch_event *data, struct ptl_bytes *storage, struct ptl_event *event)
{
	common_write_le(storage, data->new_thread, 4);
	common_write_le(storage, data->old_thread, 4);
	common_write_le(storage, 0, 8); /* priorities, states */
	common_write_le(storage, 0, 8); /* NewThreadWaitTime, Reserved */
	return finish_encoding(storage, &PTL_PROVIDER_THREAD, FORMAT_THREAD_VERSION, PTL_OPCODE_CONTEXT_SWITCH, event);
}

static void write_counted(struct ptl_bytes *storage, const uint8_t *bytes, size_t size)
{
	common_write_le(storage, size, 2);
	common_write_bytes(storage, bytes, size);
}

int ptl_image_encode(const struct ptl_image_event *data, uint8_t opcode, struct ptl_bytes *storage,
		     struct ptl_event *event)
{
	if (data->build_id_size > PTL_BUILD_ID_MAX)
		return common_fail(PTL_MISUSE, "a build id of %zu bytes", data->build_id_size);
	common_write_le(storage, data->base, 8);
	common_write_le(storage, data->size, 8);
	common_write_le(storage, data->process_id, 4);
	common_write_le(storage, 0, 4); /* ImageCheckSum */
	common_write_le(storage, data->time_date_stamp, 4);
	common_write_le(storage, 0, 4); /* SignatureLevel, SignatureType, Reserved0 */
	common_write_le(storage, data->default_base, 8);
	common_write_le(storage, 0, 8); /* Reserved1, Reserved2 */
	common_write_le(storage, 0, 8); /* Reserved3, Reserved4 */
	write_name(storage, data->file_name, true);
	common_write_le(storage, data->file_offset, 8);
	common_write_le(storage, data->protection, 4);
	common_write_le(storage, data->device_major, 4);
	common_write_le(storage, data->device_minor, 4);
	common_write_le(storage, data->inode, 8);
	write_counted(storage, data->build_id, data->build_id_size);
	write_counted(storage, data->code, data->has_code ? PTL_HASH_SIZE : 0);
	write_counted(storage, data->symbols, data->has_symbols ? PTL_HASH_SIZE : 0);
	write_counted(storage, data->debug, data->has_debug ? PTL_HASH_SIZE : 0);
	return finish_encoding(storage, &PTL_PROVIDER_IMAGE, FORMAT_IMAGE_VERSION, opcode, event);
}

int ptl_code_encode(const struct ptl_code_event *data, struct ptl_bytes *storage, struct ptl_event *event)
{
	common_write_le(storage, data->process_id, 4);
	common_write_le(storage, data->base, 8);
	common_write_le(storage, data->size, 8);
	common_write_bytes(storage, data->code, PTL_HASH_SIZE);
	return finish_encoding(storage, &PTL_PROVIDER_CODE, FORMAT_CODE_VERSION, PTL_OPCODE_CODE, event);
}

int ptl_signal_encode(const struct ptl_signal_event *data, struct ptl_bytes *storage, struct ptl_event *event)
{
	common_write_le(storage, data->process_id, 4);
	common_write_le(storage, data->thread_id, 4);
	common_write_le(storage, data->signal, 4);
	common_write_le(storage, (uint32_t)data->code, 4);
	common_write_le(storage, data->sender_id, 4);
	common_write_le(storage, data->has_address ? FORMAT_SIGNAL_HAS_ADDRESS : 0, 4);
	common_write_le(storage, data->has_address ? data->address : 0, 8);
	return finish_encoding(storage, &PTL_PROVIDER_SIGNAL, FORMAT_SIGNAL_VERSION, PTL_OPCODE_FATAL, event);
}
