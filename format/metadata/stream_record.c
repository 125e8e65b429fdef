/* SPDX-License-Identifier: BSD-2-Clause */
/* Encoders and decoders of the stream and loss records. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "format/metadata/fields.h"
#include "format/metadata/metadata.h"

/* An id plus one, so that an absent field is "none" (UINT32_MAX). */
static void write_id(struct ptl_bytes *out, unsigned tag, uint32_t id)
{
	ptl_field_number(out, tag, (uint32_t)(id + 1));
}

static uint32_t take_id(const struct ptl_tagged *field, bool *failed)
{
	return (uint32_t)ptl_take_number(field, UINT32_MAX, failed) - 1;
}

static uint32_t take32(const struct ptl_tagged *field, bool *failed)
{
	return (uint32_t)ptl_take_number(field, UINT32_MAX, failed);
}

void ptl_stream_encode(const struct ptl_stream *stream, struct ptl_bytes *out)
{
	ptl_field_number(out, 1, stream->id);
	ptl_field_number(out, 2, stream->kind);
	write_id(out, 3, stream->cpu);
	write_id(out, 4, stream->pid);
	write_id(out, 5, stream->tid);
}

int ptl_stream_decode(struct ptl_cursor body, struct ptl_stream *stream)
{
	struct ptl_stream result = {.cpu = PTL_NO_CPU, .pid = PTL_NO_ID, .tid = PTL_NO_ID};
	struct ptl_tagged field;
	bool failed = false;
	int status;

	while ((status = ptl_next_field(&body, &field)) > 0) {
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
			return ptl_fail(PTL_CORRUPT, "field %llu of a stream record",
					(unsigned long long)field.tag);
	}
	if (!status)
		*stream = result;
	return status;
}

/* Of another size than this, an origin is none. */
int ptl_origin_decode(struct ptl_cursor body, struct ptl_origin *origin)
{
	struct ptl_tagged field;
	bool failed = false;
	int status;

	*origin = (struct ptl_origin){.known = false};
	while ((status = ptl_next_field(&body, &field)) > 0) {
		if (field.tag == 6 && field.size == sizeof(origin->file)) {
			memcpy(origin->file, field.data, field.size);
			origin->known = true;
		} else if (field.tag == 7) {
			origin->stream = take32(&field, &failed);
		} else if (field.tag == 8) {
			origin->position = ptl_take_number(&field, INT64_MAX, &failed);
		}
	}
	origin->known &= !status && !failed;
	return status;
}

void ptl_origin_encode(const struct ptl_origin *origin, struct ptl_bytes *out)
{
	ptl_field_bytes(out, 6, origin->file, sizeof(origin->file));
	ptl_field_number(out, 7, origin->stream);
	ptl_field_number(out, 8, origin->position);
}

void ptl_loss_encode(const struct ptl_loss *loss, struct ptl_bytes *out)
{
	ptl_field_number(out, 1, loss->kind);
	write_id(out, 2, loss->stream);
	write_id(out, 3, loss->pid);
	write_id(out, 4, loss->tid);
	ptl_field_number(out, 5, loss->count);
	ptl_field_number(out, 6, loss->bytes);
	ptl_field_number(out, 7, loss->first_time);
	ptl_field_number(out, 8, loss->last_time);
	ptl_field_text(out, 9, loss->cause);
	if (!ptl_is_named(loss->recording))
		return;
	ptl_field_bytes(out, 10, loss->recording, sizeof(loss->recording));
	ptl_field_number(out, 11, loss->kept_first);
	ptl_field_number(out, 12, loss->kept_last + 1);
	ptl_field_number(out, 13, loss->known);
}

static void decode_loss_field(const struct ptl_tagged *field, struct ptl_loss *loss, bool *failed)
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
		loss->count = ptl_take_number(field, UINT64_MAX, failed);
		break;
	case 6:
		loss->bytes = ptl_take_number(field, UINT64_MAX, failed);
		break;
	case 7:
		loss->first_time = ptl_take_number(field, UINT64_MAX, failed);
		break;
	case 8:
		loss->last_time = ptl_take_number(field, UINT64_MAX, failed);
		break;
	case 9:
		ptl_take_text(field, &loss->cause, failed);
		break;
	case 10:
		*failed |= field->size != sizeof(loss->recording);
		if (!*failed)
			memcpy(loss->recording, field->data, field->size);
		break;
	case 11:
		loss->kept_first = ptl_take_number(field, UINT64_MAX, failed);
		break;
	case 12:
		loss->kept_last = ptl_take_number(field, UINT64_MAX, failed) - 1;
		break;
	case 13:
		loss->known = ptl_take_number(field, UINT64_MAX, failed);
		break;
	}
}

int ptl_loss_decode(struct ptl_cursor body, struct ptl_loss **loss)
{
	struct ptl_loss *result = calloc(1, sizeof(*result));
	struct ptl_tagged field;
	bool failed = false;
	int status;

	if (!result)
		return ptl_fail_memory("a loss record", sizeof(*result));
	result->cause = PTL_NO_TEXT;
	result->kept_last = UINT64_MAX;
	result->stream = result->pid = result->tid = PTL_NO_ID;
	while ((status = ptl_next_field(&body, &field)) > 0) {
		decode_loss_field(&field, result, &failed);
		if (failed) {
			status = ptl_fail(PTL_CORRUPT, "field %llu of a loss record",
					  (unsigned long long)field.tag);
			break;
		}
	}
	if (status < 0)
		ptl_loss_free(result);
	else
		*loss = result;
	return status;
}

void ptl_loss_free(struct ptl_loss *loss)
{
	if (!loss)
		return;
	ptl_text_free(loss->cause);
	free(loss);
}
