/* SPDX-License-Identifier: BSD-2-Clause */
/* Encoders and decoders of the stream and loss records. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "format/metadata/fields.h"
#include "format/metadata/metadata.h"

/* Writes an id plus one, so that a missing field means UINT32_MAX (none). */
static void write_id(struct ptl_bytes *out, unsigned tag, uint32_t id)
{
	format_field_number(out, tag, (uint32_t)(id + 1));
}

static uint32_t take_id(const struct format_tagged *field, bool *failed)
{
	return (uint32_t)format_take_number(field, UINT32_MAX, failed) - 1;
}

static uint32_t take32(const struct format_tagged *field, bool *failed)
{
	return (uint32_t)format_take_number(field, UINT32_MAX, failed);
}

void format_stream_encode(const struct ptl_stream *stream, struct ptl_bytes *out)
{
	format_field_number(out, 1, stream->id);
	format_field_number(out, 2, stream->kind);
	write_id(out, 3, stream->cpu);
	write_id(out, 4, stream->pid);
	write_id(out, 5, stream->tid);
}

int format_stream_decode(struct common_cursor body, struct ptl_stream *stream)
{
	struct ptl_stream result = {.cpu = PTL_NO_CPU, .pid = PTL_NO_ID, .tid = PTL_NO_ID};
	struct format_tagged field;
	bool failed = false;
	int status;

	while ((status = format_next_field(&body, &field)) > 0) {
		switch (field.tag) {
		case 1:
			result.id = take32(&field, &failed);
			break;
		case 2:
			result.kind = take32(&field, &failed);
			break;
		case 3:
			result.cpu = take_id(&field, &failed);
			break;
		case 4:
			result.pid = take_id(&field, &failed);
			break;
		case 5:
			result.tid = take_id(&field, &failed);
			break;
		}
		if (failed)
			return common_fail(PTL_CORRUPT, "field %llu of a stream record", (unsigned long long)field.tag);
	}
	if (!status)
		*stream = result;
	return status;
}

/* A file id of another size is ignored. */
int format_origin_decode(struct common_cursor body, struct format_origin *origin)
{
	struct format_tagged field;
	bool failed = false;
	int status;

	*origin = (struct format_origin){.known = false};
	while ((status = format_next_field(&body, &field)) > 0) {
		if (field.tag == 6 && field.size == sizeof(origin->file)) {
			memcpy(origin->file, field.data, field.size);
			origin->known = true;
		} else if (field.tag == 7) {
			origin->stream = take32(&field, &failed);
		} else if (field.tag == 8) {
			origin->position = format_take_number(&field, INT64_MAX, &failed);
		}
	}
	origin->known &= !status && !failed;
	return status;
}

void format_origin_encode(const struct format_origin *origin, struct ptl_bytes *out)
{
	format_field_bytes(out, 6, origin->file, sizeof(origin->file));
	format_field_number(out, 7, origin->stream);
	format_field_number(out, 8, origin->position);
}

void format_loss_encode(const struct ptl_loss *loss, struct ptl_bytes *out)
{
	format_field_number(out, 1, loss->kind);
	write_id(out, 2, loss->stream);
	write_id(out, 3, loss->pid);
	write_id(out, 4, loss->tid);
	format_field_number(out, 5, loss->count);
	format_field_number(out, 6, loss->bytes);
	format_field_number(out, 7, loss->first_time);
	format_field_number(out, 8, loss->last_time);
	format_field_text(out, 9, loss->cause);
	if (!format_is_named(loss->recording))
		return;
	format_field_bytes(out, 10, loss->recording, sizeof(loss->recording));
	format_field_number(out, 11, loss->kept_first);
	format_field_number(out, 12, loss->kept_last + 1);
	format_field_number(out, 13, loss->known);
}

static void decode_loss_field(const struct format_tagged *field, struct ptl_loss *loss, bool *failed)
{
	switch (field->tag) {
	case 1:
		loss->kind = take32(field, failed);
		break;
	case 2:
		loss->stream = take_id(field, failed);
		break;
	case 3:
		loss->pid = take_id(field, failed);
		break;
	case 4:
		loss->tid = take_id(field, failed);
		break;
	case 5:
		loss->count = format_take_number(field, UINT64_MAX, failed);
		break;
	case 6:
		loss->bytes = format_take_number(field, UINT64_MAX, failed);
		break;
	case 7:
		loss->first_time = format_take_number(field, UINT64_MAX, failed);
		break;
	case 8:
		loss->last_time = format_take_number(field, UINT64_MAX, failed);
		break;
	case 9:
		format_take_text(field, &loss->cause, failed);
		break;
	case 10:
		*failed |= field->size != sizeof(loss->recording);
		if (!*failed)
			memcpy(loss->recording, field->data, field->size);
		break;
	case 11:
		loss->kept_first = format_take_number(field, UINT64_MAX, failed);
		break;
	case 12:
		loss->kept_last = format_take_number(field, UINT64_MAX, failed) - 1;
		break;
	case 13:
		loss->known = format_take_number(field, UINT64_MAX, failed);
		break;
	}
}

int format_loss_decode(struct common_cursor body, struct ptl_loss **loss)
{
	struct ptl_loss *result = calloc(1, sizeof(*result));
	struct format_tagged field;
	bool failed = false;
	int status;

	if (!result)
		return common_fail_memory("a loss record", sizeof(*result));
	result->cause = FORMAT_NO_TEXT;
	result->kept_last = UINT64_MAX;
	result->stream = result->pid = result->tid = PTL_NO_ID;
	while ((status = format_next_field(&body, &field)) > 0) {
		decode_loss_field(&field, result, &failed);
		if (failed) {
			status = common_fail(PTL_CORRUPT, "field %llu of a loss record", (unsigned long long)field.tag);
			break;
		}
	}
	if (status < 0)
		format_loss_free(result);
	else
		*loss = result;
	return status;
}

void format_loss_free(struct ptl_loss *loss)
{
	if (!loss)
		return;
	format_text_free(loss->cause);
	free(loss);
}
