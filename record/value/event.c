/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/value/event.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/text/text.h"
#include "record/value/provider.h"

#define TAIL_CALL "<it is the result of the function that is jumped to>"

void value_event_free(struct value_event *event)
{
	for (size_t i = 0; i < event->field_count; i++) {
		free(event->fields[i].name);
		free(event->fields[i].map);
	}
	free(event->fields);
	free(event->name);
	*event = (struct value_event){0};
}

/* ---- schemas --------------------------------------------------------------------------------- */

static bool is_missing(const struct value_variant *variant, size_t field)
{
	return variant->tail_call || variant->missing >> field & 1;
}

/* Writes the schema of a variant: a missing value becomes text. */
static int write_schema(const struct value_event *event, struct record_capture *capture,
			const struct ptl_guid *provider, const struct value_variant *variant)
{
	struct ptl_field fields[CHANNEL_VALUE_PLAN_FIELDS_MAX];
	const struct ptl_schema schema = {
		.provider = *provider,
		.id = variant->id,
		.provider_name = VALUE_PROVIDER,
		.event_name = event->name,
		.task_name = "",
		.opcode_name = "",
		.message = "",
		.fields = fields,
		.field_count = event->field_count,
		.level = PTL_LEVEL_INFORMATIONAL,
	};

	for (size_t i = 0; i < event->field_count; i++) {
		const struct value_event_field *field = &event->fields[i];

		fields[i] = (struct ptl_field){.name = field->name, .type = PTL_TYPE_UTF8};
		if (is_missing(variant, i) || field->kind == CHANNEL_VALUE_NOTHING)
			continue;
		fields[i].type = field->type;
		fields[i].format = field->format;
		fields[i].map = field->map;
	}
	return record_capture_schema(capture, &schema);
}

/* Finds or adds the variant of a message. NULL: no room. */
static int find_variant(struct value_event *event, struct record_capture *capture, const struct ptl_guid *provider,
			const struct channel_message_values *message, uint16_t *next_id,
			const struct value_variant **found)
{
	const bool tail_call = message->tail_call != 0;
	const uint64_t missing = tail_call ? 0 : message->missing;
	struct value_variant *variant = event->variants;

	*found = NULL;
	for (size_t i = 0; i < event->variant_count; i++, variant++)
		if (variant->missing == missing && variant->tail_call == tail_call) {
			*found = variant;
			return 0;
		}
	if (event->variant_count == VALUE_VARIANTS_MAX || *next_id == UINT16_MAX)
		return 0;
	event->variant_count++;
	*variant = (struct value_variant){missing, tail_call, (*next_id)++};
	*found = variant;
	return write_schema(event, capture, provider, variant);
}

/* ---- payloads -------------------------------------------------------------------------------- */

static void put_text(struct ptl_bytes *payload, const char *text)
{
	common_write_bytes(payload, text, strlen(text) + 1);
}

static void put_missing(struct ptl_bytes *payload, uint64_t address)
{
	if (address == CHANNEL_VALUE_NO_ROOM)
		common_text_add(payload, "<no room in the event>");
	else if (address == VALUE_MISSING_PAGE)
		common_text_add(payload, "<a number in two pages, whose second may not be readable>");
	else if (address == VALUE_MISSING_TEXT)
		common_text_add(payload, "<text with a zero byte: uprobes read it up to there>");
	else
		common_text_format(payload, "<cannot read memory at 0x%" PRIx64 ">", address);
	common_write_bytes(payload, "", 1);
}

/* Copies a value. Returns whether the message has the bytes. */
static void copy_value(struct common_cursor *cursor, const struct value_event_field *field, struct ptl_bytes *payload)
{
	uint16_t length = field->size;
	const uint8_t *bytes;

	if (field->kind != CHANNEL_VALUE_NUMBER) {
		length = (uint16_t)common_read_le(cursor, 2);
		common_write_le(payload, length, 2);
	}
	bytes = common_read_bytes(cursor, length);
	if (!cursor->failed)
		common_write_bytes(payload, bytes, length);
}

/* Makes the payload. Returns whether the message fits the plan. */
static bool make_payload(const struct value_event *event, const struct channel_message_values *message,
			 const uint8_t *bytes, const struct value_variant *variant, struct ptl_bytes *payload)
{
	struct common_cursor cursor = common_cursor(bytes, message->length);

	for (size_t i = 0; i < event->field_count && !cursor.failed; i++) {
		const struct value_event_field *field = &event->fields[i];

		if (field->kind == CHANNEL_VALUE_NOTHING)
			put_text(payload, field->why);
		else if (variant->tail_call)
			put_text(payload, TAIL_CALL);
		else if (is_missing(variant, i))
			put_missing(payload, common_read_le(&cursor, 8));
		else
			copy_value(&cursor, field, payload);
	}
	return !cursor.failed && !common_cursor_left(&cursor);
}

int value_event_make(struct value_event *event, struct record_capture *capture, const struct ptl_guid *provider,
		     const struct channel_message_values *message, const uint8_t *bytes, uint16_t *next_id,
		     struct ptl_bytes *payload, uint16_t *id, bool *valid)
{
	const struct value_variant *variant;
	const int status = find_variant(event, capture, provider, message, next_id, &variant);

	*valid = false;
	if (status < 0 || !variant)
		return status;
	payload->size = 0;
	*valid = make_payload(event, message, bytes, variant, payload);
	*id = variant->id;
	return payload->failed ? common_fail_memory("values", payload->size) : 0;
}
