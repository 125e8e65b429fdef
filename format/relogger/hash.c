/* SPDX-License-Identifier: BSD-2-Clause */
/* Hashes of the inputs, for provenance, computed in a separate thread during the run. */
#include "format/relogger/hash.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/file.h"
#include "common/signals.h"
#include "format/metadata/input_hash.h"
#include "format/relogger/control.h"
#include "format/relogger/input.h"
#include "format/relogger/relogger_internal.h"
#include "format/relogger/whole.h"

#define PIECE (256u << 10) /* fits the CPU's cache between reading and hashing */

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
		format_input_hash_finish(hash, &input->origins.itself);
	free(piece);
	format_input_hash_free(hash);
	return status ? common_fail_in(status, "%s", input->name) : 0;
}

static void *hash_all(void *context)
{
	struct ptl_relogger *relogger = context;
	int status = 0;

	for (size_t i = 0; !status && i < relogger->input_count; i++)
		if (!relogger->inputs[i]->origins.count && !relogger->inputs[i]->whole.hash &&
		    relogger->options.hash != PTL_HASH_NONE)
			status = format_relogger_hash_input(relogger, relogger->inputs[i], relogger->options.hash);
	relogger->hasher.status = status;
	if (status)
		relogger->hasher.error = strdup(ptl_error_text());
	return NULL;
}

/* Without a thread, hashing is done at the end of the run. */
void format_relogger_start_hashes(struct ptl_relogger *relogger)
{
	relogger->hasher.runs = common_thread_start(&relogger->hasher.thread, NULL, hash_all, relogger) == 0;
}

void format_relogger_stop_hashes(struct ptl_relogger *relogger)
{
	if (!relogger->hasher.runs)
		return;
	pthread_join(relogger->hasher.thread, NULL);
	relogger->hasher.runs = false;
	relogger->hasher.done = true;
}

int format_relogger_finish_hashes(struct ptl_relogger *relogger)
{
	format_relogger_stop_hashes(relogger);
	if (!relogger->hasher.done)
		hash_all(relogger);
	if (relogger->hasher.status)
		return common_fail(relogger->hasher.status, "%s",
				   relogger->hasher.error ? relogger->hasher.error : "cannot hash an input");
	for (size_t i = 0; i < relogger->input_count; i++) {
		struct ptl_relogger_input *input = relogger->inputs[i];
		int status = 0;

		input->origins.itself.name = input->origins.alias ? input->origins.alias : input->name;
		input->origins.itself.size = ptl_trace_size(input->trace);
		if (relogger->options.hash == PTL_HASH_NONE)
			input->origins.itself.hash_kind = PTL_HASH_NONE;
		if (input->whole.hash)
			status = format_relogger_finish_whole(input);
		if (!status && !input->origins.count)
			status = ptl_relogger_input_origin(input, &input->origins.itself);
		if (status)
			return status;
	}
	return 0;
}
