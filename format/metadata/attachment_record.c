/* SPDX-License-Identifier: BSD-2-Clause */
/* Encoder and decoder of the attachment record. */
#include <stdlib.h>
#include <string.h>

#include <ptl/reader.h>

#include "common/error.h"
#include "format/metadata/fields.h"
#include "format/metadata/metadata.h"

enum tag { TAG_KIND = 1, TAG_PID, TAG_NAME, TAG_HASH, TAG_ID };

void format_attachment_encode(const struct ptl_attachment *attachment, struct ptl_bytes *out)
{
	format_field_number(out, TAG_KIND, attachment->kind);
	format_field_number(out, TAG_PID, (uint32_t)(attachment->pid + 1));
	format_field_text(out, TAG_NAME, attachment->name);
	format_field_bytes(out, TAG_HASH, attachment->hash, PTL_HASH_SIZE);
	if (attachment->id_size)
		format_field_bytes(out, TAG_ID, attachment->id, attachment->id_size);
}

static void decode_field(const struct format_tagged *field, struct ptl_attachment *attachment, bool *hashed,
			 bool *failed)
{
	switch (field->tag) {
	case TAG_KIND:
		attachment->kind = (uint32_t)format_take_number(field, UINT32_MAX, failed);
		break;
	case TAG_PID:
		attachment->pid = (uint32_t)format_take_number(field, UINT32_MAX, failed) - 1;
		break;
	case TAG_NAME:
		format_take_text(field, &attachment->name, failed);
		break;
	case TAG_HASH:
		*failed |= field->size != PTL_HASH_SIZE;
		*hashed = !*failed;
		if (*hashed)
			memcpy(attachment->hash, field->data, field->size);
		break;
	case TAG_ID:
		*failed |= field->size > PTL_ATTACHMENT_ID_MAX;
		attachment->id_size = *failed ? 0 : field->size;
		if (attachment->id_size)
			memcpy(attachment->id, field->data, field->size);
		break;
	}
}

int format_attachment_decode(struct common_cursor body, struct ptl_attachment **attachment)
{
	struct ptl_attachment *result = calloc(1, sizeof(*result));
	struct format_tagged field;
	bool hashed = false, failed = false;
	int status;

	if (!result)
		return common_fail_memory("an attachment record", sizeof(*result));
	result->name = FORMAT_NO_TEXT;
	result->pid = PTL_NO_ID;
	while ((status = format_next_field(&body, &field)) > 0) {
		decode_field(&field, result, &hashed, &failed);
		if (failed) {
			status = common_fail(PTL_CORRUPT, "field %llu of an attachment record",
					     (unsigned long long)field.tag);
			break;
		}
	}
	if (!status && !hashed)
		status = common_fail(PTL_CORRUPT, "an attachment record without a hash");
	if (status < 0)
		format_attachment_free(result);
	else
		*attachment = result;
	return status;
}

int format_attachment_of(const struct ptl_record *record, struct ptl_attachment **attachment)
{
	int status = 0;

	*attachment = NULL;
	if (record->type == FORMAT_RECORD_ATTACHMENT)
		status = format_attachment_decode(common_cursor(record->data, record->size), attachment);
	return status == PTL_NO_MEMORY ? status : 0;
}

void format_attachment_free(struct ptl_attachment *attachment)
{
	if (!attachment)
		return;
	format_text_free(attachment->name);
	free(attachment);
}

uint32_t format_attachment_blob(uint32_t kind)
{
	return kind == PTL_ATTACHMENT_SYMBOLS ? PTL_BLOB_SYMBOLS
	       : kind == PTL_ATTACHMENT_DEBUG ? PTL_BLOB_DEBUG
					      : PTL_BLOB_FILE;
}
