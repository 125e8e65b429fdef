/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses event headers of all kinds. */
#include "import/etl/file/record.h"

#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "import/etl/file/class.h"
#include "import/etl/file/layout.h"

#define ALIGNMENT 8u

static void take_guid(struct ptl_guid *guid, const uint8_t *bytes)
{
	memcpy(guid->bytes, bytes, sizeof(guid->bytes));
}

static void take_class(struct etl_record *record, const uint8_t *event)
{
	const uint16_t version = common_load16(event + 6);

	record->kind = ETL_KIND_CLASSIC;
	record->descriptor.opcode = event[4];
	record->descriptor.level = event[5];
	record->descriptor.version = version > UINT8_MAX ? UINT8_MAX : (uint8_t)version;
	record->tid = common_load32(event + 8);
	record->pid = common_load32(event + 12);
	record->time = common_load64(event + 16);
}

static void take_times(struct etl_record *record, const uint8_t *at)
{
	record->kernel = common_load32(at);
	record->user = common_load32(at + 4);
	record->has_cpu_times = true;
}

/* Parses SYSTEM_TRACE_HEADER, and the compact header, which has fewer fields. */
static int take_system(struct etl_record *record, const uint8_t *event, size_t size)
{
	(void)size;
	record->tid = common_load32(event + 8);
	record->pid = common_load32(event + 12);
	record->time = common_load64(event + 16);
	if (record->header <= ETL_SYSTEM64)
		take_times(record, event + 24);
	etl_class_of(record, common_load16(event), common_load16(event + 6));
	return 0;
}

static int take_perfinfo(struct etl_record *record, const uint8_t *event, size_t size)
{
	(void)size;
	record->time = common_load64(event + 8);
	etl_class_of(record, common_load16(event), common_load16(event + 6));
	return 0;
}

static int take_full(struct etl_record *record, const uint8_t *event, size_t size)
{
	(void)size;
	take_class(record, event);
	take_guid(&record->descriptor.provider, event + 24);
	take_times(record, event + 40);
	return 0;
}

/*
 * Parses EVENT_INSTANCE_GUID_HEADER: the class, and the class of the parent. The payload begins with the instance
 * numbers.
 */
static int take_instance(struct etl_record *record, const uint8_t *event, size_t size)
{
	(void)size;
	take_class(record, event);
	take_guid(&record->descriptor.provider, event + 24);
	take_times(record, event + 48);
	return 0;
}

/* Parses extended items. An item begins with its size, and is aligned to 8 bytes. The last item is marked. */
static int take_extended(struct etl_record *record, const uint8_t *event, size_t size)
{
	size_t at = ETL_EVENT_SIZE;
	bool more = true;

	while (more) {
		size_t whole, length;

		if (size - at < ETL_EXTENDED_HEADER)
			return common_fail(PTL_CORRUPT, "an extended item passes the event's end");
		whole = common_load16(event + at);
		length = common_load16(event + at + 6);
		more = common_load16(event + at + 4) & 1;
		if (whole < ETL_EXTENDED_HEADER || whole > size - at || length > whole - ETL_EXTENDED_HEADER)
			return common_fail(PTL_CORRUPT, "an extended item of %zu bytes in %zu", length, whole);
		if (common_load16(event + at + 2) == ETL_EXTENDED_RELATED && length == sizeof(struct ptl_guid))
			record->related = event + at + ETL_EXTENDED_HEADER;
		at += whole;
	}
	record->extended = event + ETL_EVENT_SIZE;
	record->extended_size = at - ETL_EVENT_SIZE;
	return 0;
}

static int take_event_record(struct etl_record *record, const uint8_t *event, size_t size)
{
	const uint16_t flags = common_load16(event + 4);
	const uint8_t *descriptor = event + 40;
	int status = 0;

	record->kind = ETL_KIND_EVENT;
	record->tid = common_load32(event + 8);
	record->pid = common_load32(event + 12);
	record->time = common_load64(event + 16);
	take_guid(&record->descriptor.provider, event + 24);
	record->descriptor.id = common_load16(descriptor);
	record->descriptor.version = descriptor[2];
	record->descriptor.channel = descriptor[3];
	record->descriptor.level = descriptor[4];
	record->descriptor.opcode = descriptor[5];
	record->descriptor.task = common_load16(descriptor + 6);
	record->descriptor.keyword = common_load64(descriptor + 8);
	if (!(flags & (ETL_EVENT_NO_TIMES | ETL_EVENT_PRIVATE)))
		take_times(record, event + 56);
	record->activity = event + 64;
	if (flags & ETL_EVENT_EXTENDED)
		status = take_extended(record, event, size);
	record->payload += record->extended_size;
	record->payload_size -= record->extended_size;
	return status;
}

/*
 * Parses a message. Flags tell the parts of the header. The message number is the event id. A message without a GUID
 * has its component id, or zero, as provider.
 */
static int take_message(struct etl_record *record, const uint8_t *event, size_t size)
{
	struct common_cursor cursor = common_cursor(event, size);
	uint16_t flags;

	common_read32(&cursor);
	record->kind = ETL_KIND_MESSAGE;
	record->has_time = false;
	record->descriptor.id = common_read16(&cursor);
	flags = common_read16(&cursor);
	if (flags & ETL_MESSAGE_SEQUENCE)
		common_read32(&cursor);
	if (flags & ETL_MESSAGE_GUID) {
		const uint8_t *guid = common_read_bytes(&cursor, sizeof(struct ptl_guid));

		if (guid)
			take_guid(&record->descriptor.provider, guid);
	} else if (flags & ETL_MESSAGE_COMPONENT) {
		common_store32(record->descriptor.provider.bytes, common_read32(&cursor));
	}
	if (flags & (ETL_MESSAGE_TIME | ETL_MESSAGE_PERFORMANCE_TIME)) {
		record->time = common_read64(&cursor);
		record->has_time = true;
	}
	if (flags & ETL_MESSAGE_SYSTEM) {
		record->tid = common_read32(&cursor);
		record->pid = common_read32(&cursor);
	}
	if (cursor.failed)
		return common_fail(PTL_CORRUPT, "the header of a message passes its end");
	record->payload = event + cursor.at;
	record->payload_size = size - cursor.at;
	return 0;
}

/* Sizes of headers, offset of the event's size, and parser of the header. */
static const struct {
	uint8_t size;
	uint8_t size_at;
	uint8_t pointer_size;
	int (*take)(struct etl_record *record, const uint8_t *event, size_t size);
} headers[] = {
	[ETL_SYSTEM32] = {ETL_SYSTEM_SIZE, 4, 4, take_system},
	[ETL_SYSTEM64] = {ETL_SYSTEM_SIZE, 4, 8, take_system},
	[ETL_COMPACT32] = {ETL_COMPACT_SIZE, 4, 4, take_system},
	[ETL_COMPACT64] = {ETL_COMPACT_SIZE, 4, 8, take_system},
	[ETL_FULL32] = {ETL_FULL_SIZE, 0, 4, take_full},
	[ETL_INSTANCE32] = {ETL_INSTANCE_SIZE, 0, 4, take_instance},
	[ETL_PERFINFO32] = {ETL_PERFINFO_SIZE, 4, 4, take_perfinfo},
	[ETL_PERFINFO64] = {ETL_PERFINFO_SIZE, 4, 8, take_perfinfo},
	[ETL_EVENT32] = {ETL_EVENT_SIZE, 0, 4, take_event_record},
	[ETL_EVENT64] = {ETL_EVENT_SIZE, 0, 8, take_event_record},
	[ETL_FULL64] = {ETL_FULL_SIZE, 0, 8, take_full},
	[ETL_INSTANCE64] = {ETL_INSTANCE_SIZE, 0, 8, take_instance},
};

/* Whether the bytes are padding: flushing may leave words of all ones or zero behind the last event. */
static bool is_padding(const uint8_t *event)
{
	const uint32_t word = common_load32(event);

	return word == 0 || word == UINT32_MAX;
}

static bool is_message(const uint8_t *event)
{
	return (event[3] & (ETL_MARK_HEADER | ETL_MARK_EVENT | ETL_MARK_MESSAGE)) ==
	       (ETL_MARK_HEADER | ETL_MARK_MESSAGE);
}

int etl_record_find(const struct etl_buffer *buffer, size_t *at, struct etl_raw *raw)
{
	const uint8_t *event = buffer->data + *at;
	const size_t left = buffer->size - *at;
	size_t size, least, aligned;
	bool message;

	if (left < ETL_MESSAGE_SIZE || is_padding(event))
		return 0;
	message = is_message(event);
	if (!(event[3] & ETL_MARK_HEADER) ||
	    (!message && (event[2] >= sizeof(headers) / sizeof(headers[0]) || !headers[event[2]].take)))
		return common_fail(PTL_CORRUPT, "byte %zu of the buffer: an event's header of an unknown kind", *at);
	size = common_load16(event + (message ? 0 : headers[event[2]].size_at));
	least = message ? ETL_MESSAGE_SIZE : headers[event[2]].size;
	if (size < least || size > left)
		return common_fail(PTL_CORRUPT, "byte %zu of the buffer: an event of %zu bytes", *at, size);
	*raw = (struct etl_raw){event, (uint16_t)size, (uint16_t)least, message ? ETL_MESSAGE : event[2]};
	aligned = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	*at += aligned < left ? aligned : left;
	return 1;
}

int etl_record_read(const struct etl_raw *raw, struct etl_record *record)
{
	const bool message = raw->header == ETL_MESSAGE;

	*record = (struct etl_record){
		.header = raw->header,
		.pointer_size = message ? 8 : headers[raw->header].pointer_size,
		.has_time = true,
		.pid = UINT32_MAX,
		.tid = UINT32_MAX,
		.payload = raw->event + raw->least,
		.payload_size = raw->size - raw->least,
	};
	return message ? take_message(record, raw->event, raw->size)
		       : headers[raw->header].take(record, raw->event, raw->size);
}

int etl_record_next(const struct etl_buffer *buffer, size_t *at, struct etl_record *record)
{
	const size_t start = *at;
	struct etl_raw raw;
	int status = etl_record_find(buffer, at, &raw);

	if (status <= 0)
		return status;
	status = etl_record_read(&raw, record);
	if (!status)
		return 1;
	*at = start;
	return common_fail_in(status, "byte %zu of the buffer", start);
}

bool etl_raw_is_system(const struct etl_raw *raw)
{
	return (raw->header >= ETL_SYSTEM32 && raw->header <= ETL_COMPACT64) || raw->header == ETL_PERFINFO32 ||
	       raw->header == ETL_PERFINFO64;
}

uint64_t etl_raw_time(const struct etl_raw *raw)
{
	const bool short_header = raw->header == ETL_PERFINFO32 || raw->header == ETL_PERFINFO64;

	return raw->size < (short_header ? 16 : 24) ? 0 : common_load64(raw->event + (short_header ? 8 : 16));
}

uint16_t etl_raw_hook(const struct etl_raw *raw)
{
	return common_load16(raw->event + 6);
}

bool etl_record_extended(const struct etl_record *record, size_t *at, struct ptl_extended *item)
{
	const uint8_t *bytes;

	if (!record->extended || *at >= record->extended_size)
		return false;
	bytes = record->extended + *at;
	*item = (struct ptl_extended){common_load16(bytes + 2), common_load16(bytes + 6), bytes + ETL_EXTENDED_HEADER};
	*at += common_load16(bytes);
	return true;
}
