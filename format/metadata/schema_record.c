/* SPDX-License-Identifier: BSD-2-Clause */
/* Encoder and decoder of the schema record. */
#include <stdlib.h>

#include "common/error.h"
#include "format/metadata/fields.h"
#include "format/container/layout.h"
#include "format/metadata/metadata.h"
#include "common/vector.h"

enum tag {
	TAG_PROVIDER = 1,
	TAG_ID,
	TAG_VERSION,
	TAG_OPCODE,
	TAG_PROVIDER_NAME,
	TAG_EVENT_NAME,
	TAG_TASK_NAME,
	TAG_OPCODE_NAME,
	TAG_MESSAGE,
	TAG_FIELD,
	TAG_LEVEL,
	TAG_CHANNEL,
	TAG_TASK,
	TAG_KEYWORD,
	TAG_TAGS,
};
enum field_tag {
	TAG_NAME = 1,
	TAG_TYPE,
	TAG_FORMAT,
	TAG_ARRAY,
	TAG_LENGTH,
	TAG_ARRAY_LENGTH,
	TAG_MAP,
	TAG_FIELD_TAGS,
};

static void encode_field(const struct ptl_field *field, struct ptl_bytes *out)
{
	struct ptl_bytes body = {0};

	format_field_cut(&body, TAG_NAME, field->name, FORMAT_NAME_MAX);
	format_field_number(&body, TAG_TYPE, field->type);
	format_field_number(&body, TAG_FORMAT, field->format);
	format_field_number(&body, TAG_ARRAY, field->array);
	format_field_number(&body, TAG_LENGTH, field->length);
	format_field_number(&body, TAG_ARRAY_LENGTH, field->array_length);
	format_field_cut(&body, TAG_MAP, field->map, FORMAT_NAME_MAX);
	format_field_number(&body, TAG_FIELD_TAGS, field->tags);
	out->failed |= body.failed;
	format_field_bytes(out, TAG_FIELD, body.data, body.size);
	common_bytes_free(&body);
}

void format_schema_encode(const struct ptl_schema *schema, struct ptl_bytes *out)
{
	format_field_bytes(out, TAG_PROVIDER, schema->provider.bytes, sizeof(schema->provider.bytes));
	format_field_number(out, TAG_ID, schema->id);
	format_field_number(out, TAG_VERSION, schema->version);
	format_field_number(out, TAG_OPCODE, schema->opcode);
	format_field_cut(out, TAG_PROVIDER_NAME, schema->provider_name, FORMAT_NAME_MAX);
	format_field_cut(out, TAG_EVENT_NAME, schema->event_name, FORMAT_NAME_MAX);
	format_field_cut(out, TAG_TASK_NAME, schema->task_name, FORMAT_NAME_MAX);
	format_field_cut(out, TAG_OPCODE_NAME, schema->opcode_name, FORMAT_NAME_MAX);
	format_field_cut(out, TAG_MESSAGE, schema->message, FORMAT_MESSAGE_MAX);
	for (size_t i = 0; i < schema->field_count; i++)
		encode_field(&schema->fields[i], out);
	format_field_number(out, TAG_LEVEL, schema->level);
	format_field_number(out, TAG_CHANNEL, schema->channel);
	format_field_number(out, TAG_TASK, schema->task);
	format_field_number(out, TAG_KEYWORD, schema->keyword);
	format_field_number(out, TAG_TAGS, schema->tags);
}

static void decode_member(const struct format_tagged *tagged, struct ptl_field *field, bool *failed)
{
	switch (tagged->tag) {
	case TAG_NAME:
		format_take_bounded(tagged, FORMAT_NAME_MAX, &field->name, failed);
		break;
	case TAG_TYPE:
		field->type = (uint8_t)format_take_number(tagged, UINT8_MAX, failed);
		break;
	case TAG_FORMAT:
		field->format = (uint8_t)format_take_number(tagged, UINT8_MAX, failed);
		break;
	case TAG_ARRAY:
		field->array = (uint8_t)format_take_number(tagged, UINT8_MAX, failed);
		break;
	case TAG_LENGTH:
		field->length = (uint32_t)format_take_number(tagged, UINT32_MAX, failed);
		break;
	case TAG_ARRAY_LENGTH:
		field->array_length = (uint32_t)format_take_number(tagged, UINT32_MAX, failed);
		break;
	case TAG_MAP:
		format_take_bounded(tagged, FORMAT_NAME_MAX, &field->map, failed);
		break;
	case TAG_FIELD_TAGS:
		field->tags = (uint32_t)format_take_number(tagged, UINT32_MAX, failed);
		break;
	}
}

static void decode_field(struct common_cursor body, struct ptl_schema *schema, bool *failed)
{
	struct ptl_field *fields = (struct ptl_field *)schema->fields, *field;
	struct format_tagged tagged;
	int status;

	if (schema->field_count == FORMAT_RECORD_ITEMS_MAX ||
	    !common_vector_room(&fields, schema->field_count, sizeof(*fields))) {
		*failed = true;
		return;
	}
	schema->fields = fields;
	field = &fields[schema->field_count++];
	*field = (struct ptl_field){.name = FORMAT_NO_TEXT};
	while (!*failed && (status = format_next_field(&body, &tagged)) != 0) {
		*failed = status < 0;
		if (!*failed)
			decode_member(&tagged, field, failed);
	}
}

static void decode_tag(const struct format_tagged *tagged, struct ptl_schema *schema, bool *have_provider, bool *failed)
{
	switch (tagged->tag) {
	case TAG_PROVIDER:
		*have_provider = tagged->size == sizeof(schema->provider.bytes);
		*failed = !*have_provider;
		if (*have_provider)
			memcpy(schema->provider.bytes, tagged->data, sizeof(schema->provider.bytes));
		break;
	case TAG_ID:
		schema->id = (uint16_t)format_take_number(tagged, UINT16_MAX, failed);
		break;
	case TAG_VERSION:
		schema->version = (uint8_t)format_take_number(tagged, UINT8_MAX, failed);
		break;
	case TAG_OPCODE:
		schema->opcode = (uint8_t)format_take_number(tagged, UINT8_MAX, failed);
		break;
	case TAG_PROVIDER_NAME:
		format_take_bounded(tagged, FORMAT_NAME_MAX, &schema->provider_name, failed);
		break;
	case TAG_EVENT_NAME:
		format_take_bounded(tagged, FORMAT_NAME_MAX, &schema->event_name, failed);
		break;
	case TAG_TASK_NAME:
		format_take_bounded(tagged, FORMAT_NAME_MAX, &schema->task_name, failed);
		break;
	case TAG_OPCODE_NAME:
		format_take_bounded(tagged, FORMAT_NAME_MAX, &schema->opcode_name, failed);
		break;
	case TAG_MESSAGE:
		format_take_bounded(tagged, FORMAT_MESSAGE_MAX, &schema->message, failed);
		break;
	case TAG_FIELD:
		decode_field(common_cursor(tagged->data, tagged->size), schema, failed);
		break;
	case TAG_LEVEL:
		schema->level = (uint8_t)format_take_number(tagged, UINT8_MAX, failed);
		break;
	case TAG_CHANNEL:
		schema->channel = (uint8_t)format_take_number(tagged, UINT8_MAX, failed);
		break;
	case TAG_TASK:
		schema->task = (uint16_t)format_take_number(tagged, UINT16_MAX, failed);
		break;
	case TAG_KEYWORD:
		schema->keyword = format_take_number(tagged, UINT64_MAX, failed);
		break;
	case TAG_TAGS:
		schema->tags = (uint32_t)format_take_number(tagged, UINT32_MAX, failed);
		break;
	}
}

static struct ptl_schema *new_schema(void)
{
	struct ptl_schema *schema = calloc(1, sizeof(*schema));

	if (!schema)
		return NULL;
	schema->provider_name = FORMAT_NO_TEXT;
	schema->event_name = FORMAT_NO_TEXT;
	schema->task_name = FORMAT_NO_TEXT;
	schema->opcode_name = FORMAT_NO_TEXT;
	schema->message = FORMAT_NO_TEXT;
	return schema;
}

int format_schema_decode(struct common_cursor body, struct ptl_schema **schema)
{
	struct ptl_schema *result = new_schema();
	bool have_provider = false, failed = false;
	struct format_tagged tagged;
	int status;

	if (!result)
		return common_fail_memory("a schema", sizeof(*result));
	while ((status = format_next_field(&body, &tagged)) > 0) {
		decode_tag(&tagged, result, &have_provider, &failed);
		if (failed) {
			status = common_fail(PTL_CORRUPT, "field %llu of a schema record",
					     (unsigned long long)tagged.tag);
			break;
		}
	}
	if (!status && !have_provider)
		status = common_fail(PTL_CORRUPT, "a schema record without a provider");
	if (status < 0)
		format_schema_free(result);
	else
		*schema = result;
	return status;
}

void format_schema_free(struct ptl_schema *schema)
{
	if (!schema)
		return;
	for (size_t i = 0; i < schema->field_count; i++) {
		format_text_free(schema->fields[i].name);
		format_text_free(schema->fields[i].map);
	}
	free((void *)schema->fields);
	format_text_free(schema->provider_name);
	format_text_free(schema->event_name);
	format_text_free(schema->task_name);
	format_text_free(schema->opcode_name);
	format_text_free(schema->message);
	free(schema);
}
