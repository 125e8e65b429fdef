/* SPDX-License-Identifier: BSD-2-Clause */
/* Hashes of the inputs, for provenance, computed in a separate thread during the run. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/file.h"
#include "common/signals.h"
#include "format/metadata/input_hash.h"
#include "format/relogger/relogger_internal.h"

#define PIECE (256u << 10) /* fits the CPU's cache between reading and hashing */

/* Hashes the bytes with which the trace was opened. */
int format_relogger_hash_input(struct ptl_relogger *relogger, struct ptl_relogger_input *input, enum ptl_hash_kind kind)
{
	const uint64_t size = ptl_trace_size(input->trace);
	struct format_input_hash *hash = format_input_hash_new(kind);
	uint8_t *piece = malloc(PIECE);
	int status = hash && piece ? 0 : common_fail_memory("a hash", PIECE);

	for (uint64_t at = 0; !status && kind != PTL_HASH_NONE && at < size;) {
		const size_t n = size - at < PIECE ? (size_t)(size - at) : PIECE;

		status = common_read_at(input->fd, piece, n, at);
		if (!status) {
			format_input_hash_add(hash, piece, n);
			at += n;
			status = format_relogger_check(relogger);
		}
	}
	if (!status)
		format_input_hash_finish(hash, &input->itself);
	free(piece);
	format_input_hash_free(hash);
	return status ? common_fail_in(status, "%s", input->name) : 0;
}

static void *hash_all(void *context)
{
	struct ptl_relogger *relogger = context;
	int status = 0;

	for (size_t i = 0; !status && i < relogger->input_count; i++)
		if (!relogger->inputs[i]->origin_count && !relogger->inputs[i]->hash &&
		    relogger->options.hash != PTL_HASH_NONE)
			status = format_relogger_hash_input(relogger, relogger->inputs[i], relogger->options.hash);
	relogger->hash_status = status;
	if (status)
		relogger->hash_error = strdup(ptl_error_text());
	return NULL;
}

/* Starts the hashing thread. Without a thread, hashing is done at the end of the run. */
void format_relogger_start_hashes(struct ptl_relogger *relogger)
{
	relogger->hashing = common_thread_start(&relogger->hasher, NULL, hash_all, relogger) == 0;
}

void format_relogger_stop_hashes(struct ptl_relogger *relogger)
{
	if (!relogger->hashing)
		return;
	pthread_join(relogger->hasher, NULL);
	relogger->hashing = false;
	relogger->hashed = true;
}

int format_relogger_finish_hashes(struct ptl_relogger *relogger)
{
	format_relogger_stop_hashes(relogger);
	if (!relogger->hashed)
		hash_all(relogger);
	if (relogger->hash_status)
		return common_fail(relogger->hash_status, "%s",
				   relogger->hash_error ? relogger->hash_error : "cannot hash an input");
	for (size_t i = 0; i < relogger->input_count; i++) {
		struct ptl_relogger_input *input = relogger->inputs[i];
		int status = 0;

		input->itself.name = input->alias ? input->alias : input->name;
		input->itself.size = ptl_trace_size(input->trace);
		if (relogger->options.hash == PTL_HASH_NONE)
			input->itself.hash_kind = PTL_HASH_NONE;
		if (input->hash)
			status = format_relogger_finish_whole(input);
		if (!status && !input->origin_count)
			status = ptl_relogger_input_origin(input, &input->itself);
		if (status)
			return status;
	}
	return 0;
}
