/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inputs whose streams no callback needs. Their buffers are copied in the order of the file, and the bytes read for the
 * copy are hashed at once, while they are in the CPU's cache. Reading again for the hash would take half the time of
 * writing.
 */
#include "format/relogger/whole.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/file.h"
#include "format/metadata/input_hash.h"
#include "format/reader/parts.h"
#include "format/relogger/control.h"
#include "format/relogger/copy.h"
#include "format/relogger/input.h"
#include "format/relogger/relogger_internal.h"
#include "format/relogger/stages.h"
#include "format/relogger/stream.h"

#define PIECE ((size_t)64 << 10)

int format_relogger_find_whole(struct ptl_relogger *relogger)
{
	const bool looked_at = format_stages_look_into_streams(relogger);

	for (size_t i = 0; i < relogger->input_count; i++) {
		struct ptl_relogger_input *input = relogger->inputs[i];

		input->whole.whole = !looked_at && !input->ids.changed && !input->extent.joined;
		if (!input->whole.whole || input->origins.count || relogger->options.hash != PTL_HASH_XXH128)
			continue;
		input->whole.hash = format_input_hash_new(PTL_HASH_XXH128);
		if (!input->whole.hash)
			return common_fail_memory("a hash", 0);
	}
	return 0;
}

/* --- hashing ------------------------------------------------------------------------------------------ */

/* Hashes the bytes up to `end` that are in no copied buffer: headers, metadata, blobs, the index, damaged data. */
static int hash_until(struct ptl_relogger_input *input, uint64_t end)
{
	const uint64_t left = end > input->whole.hashed ? end - input->whole.hashed : 0;
	uint8_t *piece = left ? malloc(left < PIECE ? (size_t)left : PIECE) : NULL;
	int status = left && !piece ? common_fail_memory("a hash", PIECE) : 0;

	while (!status && input->whole.hashed < end) {
		const size_t n = end - input->whole.hashed < PIECE ? (size_t)(end - input->whole.hashed) : PIECE;

		status = common_read_at(input->fd, piece, n, input->whole.hashed);
		if (!status) {
			format_input_hash_add(input->whole.hash, piece, n);
			input->whole.hashed += n;
			status = format_relogger_check(input->relogger);
		}
	}
	free(piece);
	return status;
}

/* Hashes a copied buffer as it is in the file. */
static int hash_buffer(void *context, uint64_t offset, const uint8_t *data, size_t size)
{
	struct ptl_relogger_input *input = context;
	int status;

	if (offset < input->whole.hashed)
		return 0;
	status = hash_until(input, offset);
	if (!status) {
		format_input_hash_add(input->whole.hash, data, size);
		input->whole.hashed += size;
	}
	return status;
}

int format_relogger_finish_whole(struct ptl_relogger_input *input)
{
	const int status = hash_until(input, ptl_trace_size(input->trace));

	if (!status)
		format_input_hash_finish(input->whole.hash, &input->origins.itself);
	return status ? common_fail_in(status, "%s", input->name) : 0;
}

/* --- copying ------------------------------------------------------------------------------------------ */

static bool is_copied(uint32_t kind)
{
	return kind != PTL_KIND_METADATA && kind != PTL_KIND_BLOB && kind != PTL_KIND_INDEX;
}

/* Declares streams in order. owners: receives the stream number of each buffer. */
static int declare_streams(struct ptl_relogger *relogger, struct ptl_relogger_input *input, uint32_t *owners)
{
	const struct ptl_trace *trace = input->trace;
	int status = 0;

	for (size_t i = 0; !status && i < ptl_stream_count(trace); i++) {
		size_t count;
		const uint32_t *entries = format_stream_buffers(trace, i, &count);

		for (size_t j = 0; j < count; j++)
			owners[entries[j]] = (uint32_t)i;
		if (is_copied(ptl_stream_at(trace, i)->kind))
			status = format_relogger_declare_stream(relogger, input, i);
	}
	return status;
}

int format_relogger_copy_whole(struct ptl_relogger *relogger, struct ptl_relogger_input *input)
{
	const struct ptl_trace *trace = input->trace;
	uint32_t *owners = calloc(ptl_buffer_count(trace) + 1, sizeof(*owners));
	int status = owners ? declare_streams(relogger, input, owners)
			    : common_fail_memory("buffers", ptl_buffer_count(trace) * sizeof(*owners));

	for (size_t i = 0; !status && i < ptl_buffer_count(trace); i++)
		if (is_copied(ptl_buffer_at(trace, i)->stream.kind))
			status = format_relogger_copy_buffer(relogger, input, owners[i], i,
							     input->whole.hash ? hash_buffer : NULL);
	free(owners);
	return status;
}
