/* SPDX-License-Identifier: BSD-2-Clause */
/* Passes blobs: buffer by buffer unchanged, or only the wanted pieces. */
#include "format/relogger/blobs.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "format/relogger/copy.h"
#include "format/relogger/input.h"
#include "format/relogger/relogger_internal.h"
#include "format/relogger/stages.h"
#include "format/writer/copy.h"

/* Drops a damaged blob if a later input has the same blob, which may be intact there. PTL_NO_MEMORY. */
static int find_better(struct ptl_relogger_input *input, size_t blob, bool *keep)
{
	const struct ptl_relogger *relogger = input->relogger;

	for (size_t i = input->number + 1; *keep && i < relogger->input_count; i++) {
		int status;

		if (!ptl_blob_find(relogger->inputs[i]->trace, ptl_blob_at(input->trace, blob)->hash))
			continue;
		status = format_blob_verify(input->trace, blob);
		if (status == PTL_NO_MEMORY)
			return status;
		*keep = !status;
		break;
	}
	return 0;
}

static int is_wanted_blob(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t blob, bool *keep)
{
	const struct ptl_blob_info *info = ptl_blob_at(input->trace, blob);
	int status;

	*keep = !format_writer_has_blob(relogger->writer, info->hash);
	relogger->counts.blobs_shared += !*keep;
	status = format_stages_blob(relogger, input, info, keep);
	/* Checked last, as find_better reads the whole blob. */
	return status ? status : find_better(input, blob, keep);
}

/* Bits of a buffer: has a piece that is kept, has a piece that is dropped. */
enum { PIECE_KEPT = 1, PIECE_LEFT = 2 };

/* Asks the stages about each blob. wanted: array by blob; buffers: array by buffer. */
static int decide(struct ptl_relogger *relogger, struct ptl_relogger_input *input, uint8_t *wanted, uint8_t *buffers)
{
	const struct ptl_trace *trace = input->trace;

	for (size_t i = 0; i < ptl_blob_count(trace); i++) {
		struct format_blob_piece piece;
		bool keep;
		const int status = is_wanted_blob(relogger, input, i, &keep);

		if (status)
			return status;
		wanted[i] = keep;
		for (uint32_t at = 0; format_blob_piece_of(trace, i, &at, &piece);)
			buffers[piece.entry] |= keep ? PIECE_KEPT : PIECE_LEFT;
	}
	return 0;
}

/* Copies buffers of which everything is wanted, and buffers without known blobs. */
static int copy_whole_buffers(struct ptl_relogger *relogger, struct ptl_relogger_input *input, const uint8_t *buffers)
{
	const struct ptl_trace *trace = input->trace;

	for (size_t i = 0; i < ptl_stream_count(trace); i++) {
		size_t count;
		const uint32_t *entries = format_stream_buffers(trace, i, &count);

		if (ptl_stream_at(trace, i)->kind != PTL_KIND_BLOB)
			continue;
		for (size_t j = 0; j < count; j++) {
			int status = 0;

			if (!(buffers[entries[j]] & PIECE_LEFT))
				status = format_relogger_copy_blobs(relogger, input, i, entries[j]);
			if (status)
				return status;
		}
	}
	return 0;
}

/* Copies a wanted piece of a buffer that also has unwanted pieces. */
int format_relogger_copy_piece(struct ptl_relogger *relogger, struct ptl_relogger_input *input,
			       const struct ptl_blob_info *blob, const struct format_blob_piece *piece)
{
	struct format_chunk chunk = {
		.type = blob->type, .blob_size = blob->size, .offset = piece->offset, .length = piece->length};
	const uint8_t *data;
	size_t size;
	int status = ptl_buffer_acquire(input->trace, piece->entry, &data, &size);

	if (status)
		return format_is_damage(status) ? 0 : status;
	memcpy(chunk.hash, blob->hash, PTL_HASH_SIZE);
	status = format_writer_chunk(relogger->writer, &chunk, data + piece->from);
	ptl_buffer_release(input->trace, piece->entry);
	return status;
}

static int copy_pieces(struct ptl_relogger *relogger, struct ptl_relogger_input *input, const uint8_t *wanted,
		       const uint8_t *buffers)
{
	const struct ptl_trace *trace = input->trace;
	int status = 0;

	for (size_t i = 0; i < ptl_blob_count(trace); i++) {
		struct format_blob_piece piece;
		uint32_t at = 0;

		while (!status && wanted[i] && format_blob_piece_of(trace, i, &at, &piece))
			if (buffers[piece.entry] & PIECE_LEFT)
				status = format_relogger_copy_piece(relogger, input, ptl_blob_at(trace, i), &piece);
	}
	return status;
}

static int pass_blobs(struct ptl_relogger *relogger, struct ptl_relogger_input *input)
{
	uint8_t *wanted = calloc(ptl_blob_count(input->trace) + 1, 1);
	uint8_t *buffers = calloc(ptl_buffer_count(input->trace) + 1, 1);
	int status = wanted && buffers ? 0 : common_fail_memory("blobs", ptl_blob_count(input->trace));

	if (!status)
		status = decide(relogger, input, wanted, buffers);
	if (!status)
		status = copy_whole_buffers(relogger, input, buffers);
	if (!status)
		status = copy_pieces(relogger, input, wanted, buffers);
	free(wanted);
	free(buffers);
	return status;
}

int format_relogger_pass_blobs(struct ptl_relogger *relogger)
{
	int status = 0;

	for (size_t i = 0; !status && i < relogger->input_count; i++)
		status = pass_blobs(relogger, relogger->inputs[i]);
	return status;
}
