/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaces numbers in the fields of a record. */
#include "format/relogger/record_fields.h"

#include "common/error.h"
#include "format/metadata/fields.h"
#include "format/relogger/relogger_internal.h"

void format_record_replace(struct ptl_bytes *out, const struct ptl_record *record,
			   const struct format_replacement *replacements, size_t count)
{
	struct common_cursor body = common_cursor(record->data, record->size);
	struct format_tagged field;

	for (size_t i = 0; i < count; i++)
		format_field_number(out, replacements[i].tag, replacements[i].number);
	for (;;) {
		const size_t start = body.at;
		bool replaced = false;

		if (format_next_field(&body, &field) <= 0)
			break;
		for (size_t i = 0; i < count; i++)
			replaced |= field.tag == replacements[i].tag;
		if (!replaced)
			common_write_bytes(out, body.data + start, body.at - start);
	}
}

uint64_t format_record_number(const struct ptl_record *record, unsigned tag)
{
	struct common_cursor body = common_cursor(record->data, record->size);
	struct format_tagged field;
	uint64_t number = 0;
	bool failed = false;

	while (format_next_field(&body, &field) > 0)
		if (field.tag == tag)
			number = format_take_number(&field, UINT64_MAX, &failed);
	return number;
}

int format_record_id(const struct ptl_relogger_input *input, const struct ptl_record *record,
		     struct format_replacement *id)
{
	uint32_t value = (uint32_t)format_record_number(record, id->tag) - 1;
	const int status = ptl_relogger_map_id(input, &value);

	id->number = (uint32_t)(value + 1);
	return status;
}

int format_record_write(struct ptl_relogger *relogger, uint64_t type, struct ptl_bytes *body)
{
	const int status = body->failed ? common_fail_memory("a record", body->size)
					: ptl_writer_record(relogger->writer, type, body->data, body->size);

	common_bytes_free(body);
	return status;
}
