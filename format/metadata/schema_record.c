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

	ptl_field_text(&body, TAG_NAME, field->name);
	ptl_field_number(&body, TAG_TYPE, field->type);
	ptl_field_number(&body, TAG_FORMAT, field->format);
	ptl_field_number(&body, TAG_ARRAY, field->array);
	ptl_field_number(&body, TAG_LENGTH, field->length);
	ptl_field_number(&body, TAG_ARRAY_LENGTH, field->array_length);
	ptl_field_text(&body, TAG_MAP, field->map);
	ptl_field_number(&body, TAG_FIELD_TAGS, field->tags);
	out->failed |= body.failed;
	ptl_field_bytes(out, TAG_FIELD, body.data, body.size);
	ptl_bytes_free(&body);
}

void ptl_schema_encode(const struct ptl_schema *schema, struct ptl_bytes *out)
{
	ptl_field_bytes(out, TAG_PROVIDER, schema->provider.bytes, sizeof(schema->provider.bytes));
	ptl_field_number(out, TAG_ID, schema->id);
	ptl_field_number(out, TAG_VERSION, schema->version);
	ptl_field_number(out, TAG_OPCODE, schema->opcode);
	ptl_field_text(out, TAG_PROVIDER_NAME, schema->provider_name);
	ptl_field_text(out, TAG_EVENT_NAME, schema->event_name);
	ptl_field_text(out, TAG_TASK_NAME, schema->task_name);
	ptl_field_text(out, TAG_OPCODE_NAME, schema->opcode_name);
	ptl_field_text(out, TAG_MESSAGE, schema->message);
	for (size_t i = 0; i < schema->field_count; i++)
		encode_field(&schema->fields[i], out);
	ptl_field_number(out, TAG_LEVEL, schema->level);
	ptl_field_number(out, TAG_CHANNEL, schema->channel);
	ptl_field_number(out, TAG_TASK, schema->task);
	ptl_field_number(out, TAG_KEYWORD, schema->keyword);
	ptl_field_number(out, TAG_TAGS, schema->tags);
}

static void decode_member(const struct ptl_tagged *tagged, struct ptl_field *field, bool *failed)
{
	switch (tagged->tag) {
	case TAG_NAME:
		ptl_take_text(tagged, &field->name, failed);
		break;
	case TAG_TYPE:
		field->type = (uint8_t)ptl_take_number(tagged, UINT8_MAX, failed);
		break;
	case TAG_FORMAT:
		field->format = (uint8_t)ptl_take_number(tagged, UINT8_MAX, failed);
		break;
	case TAG_ARRAY:
		field->array = (uint8_t)ptl_take_number(tagged, UINT8_MAX, failed);
		break;
	case TAG_LENGTH:
		field->length = (uint32_t)ptl_take_number(tagged, UINT32_MAX, failed);
		break;
	case TAG_ARRAY_LENGTH:
		field->array_length = (uint32_t)ptl_take_number(tagged, UINT32_MAX, failed);
		break;
	case TAG_MAP:
		ptl_take_text(tagged, &field->map, failed);
		break;
	case TAG_FIELD_TAGS:
		field->tags = (uint32_t)ptl_take_number(tagged, UINT32_MAX, failed);
		break;
	}
}

static void decode_field(struct ptl_cursor body, struct ptl_schema *schema, bool *failed)
{
	struct ptl_field *fields = (struct ptl_field *)schema->fields, *field;
	struct ptl_tagged tagged;
	int status;

	if (schema->field_count == PTL_RECORD_ITEMS_MAX ||
	    !ptl_vector_room(&fields, schema->field_count, sizeof(*fields))) {
		*failed = true;
		return;
	}
	schema->fields = fields;
	field = &fields[schema->field_count++];
	*field = (struct ptl_field){.name = PTL_NO_TEXT};
	while (!*failed && (status = ptl_next_field(&body, &tagged)) != 0) {
		*failed = status < 0;
		if (!*failed)
			decode_member(&tagged, field, failed);
	}
}

static void decode_tag(const struct ptl_tagged *tagged, struct ptl_schema *schema,
		       bool *have_provider, bool *failed)
{
	switch (tagged->tag) {
	case TAG_PROVIDER:
		*have_provider = tagged->size == sizeof(schema->provider.bytes);
		*failed = !*have_provider;
		if (*have_provider)
			memcpy(schema->provider.bytes, tagged->data,
			       sizeof(schema->provider.bytes));
		break;
	case TAG_ID:
		schema->id = (uint16_t)ptl_take_number(tagged, UINT16_MAX, failed);
		break;
	case TAG_VERSION:
		schema->version = (uint8_t)ptl_take_number(tagged, UINT8_MAX, failed);
		break;
	case TAG_OPCODE:
		schema->opcode = (uint8_t)ptl_take_number(tagged, UINT8_MAX, failed);
		break;
	case TAG_PROVIDER_NAME:
		ptl_take_text(tagged, &schema->provider_name, failed);
		break;
	case TAG_EVENT_NAME:
		ptl_take_text(tagged, &schema->event_name, failed);
		break;
	case TAG_TASK_NAME:
		ptl_take_text(tagged, &schema->task_name, failed);
		break;
	case TAG_OPCODE_NAME:
		ptl_take_text(tagged, &schema->opcode_name, failed);
		break;
	case TAG_MESSAGE:
		ptl_take_text(tagged, &schema->message, failed);
		break;
	case TAG_FIELD:
		decode_field(ptl_cursor(tagged->data, tagged->size), schema, failed);
		break;
	case TAG_LEVEL:
		schema->level = (uint8_t)ptl_take_number(tagged, UINT8_MAX, failed);
		break;
	case TAG_CHANNEL:
		schema->channel = (uint8_t)ptl_take_number(tagged, UINT8_MAX, failed);
		break;
	case TAG_TASK:
		schema->task = (uint16_t)ptl_take_number(tagged, UINT16_MAX, failed);
		break;
	case TAG_KEYWORD:
		schema->keyword = ptl_take_number(tagged, UINT64_MAX, failed);
		break;
	case TAG_TAGS:
		schema->tags = (uint32_t)ptl_take_number(tagged, UINT32_MAX, failed);
		break;
	}
}

static struct ptl_schema *new_schema(void)
{
	struct ptl_schema *schema = calloc(1, sizeof(*schema));

	if (!schema)
		return NULL;
	schema->provider_name = PTL_NO_TEXT;
	schema->event_name = PTL_NO_TEXT;
	schema->task_name = PTL_NO_TEXT;
	schema->opcode_name = PTL_NO_TEXT;
	schema->message = PTL_NO_TEXT;
	return schema;
}

int ptl_schema_decode(struct ptl_cursor body, struct ptl_schema **schema)
{
	struct ptl_schema *result = new_schema();
	bool have_provider = false, failed = false;
	struct ptl_tagged tagged;
	int status;

	if (!result)
		return ptl_fail_memory("a schema", sizeof(*result));
	while ((status = ptl_next_field(&body, &tagged)) > 0) {
		decode_tag(&tagged, result, &have_provider, &failed);
		if (failed) {
			status = ptl_fail(PTL_CORRUPT, "field %llu of a schema record",
					  (unsigned long long)tagged.tag);
			break;
		}
	}
	if (!status && !have_provider)
		status = ptl_fail(PTL_CORRUPT, "a schema record without a provider");
	if (status < 0)
		ptl_schema_free(result);
	else
		*schema = result;
	return status;
}

void ptl_schema_free(struct ptl_schema *schema)
{
	if (!schema)
		return;
	for (size_t i = 0; i < schema->field_count; i++) {
		ptl_text_free(schema->fields[i].name);
		ptl_text_free(schema->fields[i].map);
	}
	free((void *)schema->fields);
	ptl_text_free(schema->provider_name);
	ptl_text_free(schema->event_name);
	ptl_text_free(schema->task_name);
	ptl_text_free(schema->opcode_name);
	ptl_text_free(schema->message);
	free(schema);
}
