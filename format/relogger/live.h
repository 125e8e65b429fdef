/* SPDX-License-Identifier: BSD-2-Clause */
/* Relogs a trace that is being written. */
#ifndef FORMAT_RELOGGER_LIVE_H
#define FORMAT_RELOGGER_LIVE_H

#include <stdbool.h>
#include <stddef.h>

#include <ptl/relogger.h>

#include "common/hash_map.h"
#include "format/reader/merge.h"

/* Progress of a trace that is being written. */
struct format_live {
	size_t stream_count; /* number of elements of input->streams */
	size_t records;
	size_t blobs;                   /* number of blobs checked */
	struct common_hash_map foreign; /* numbers of blobs that a callback added to the output */
	bool copies_blobs;              /* blobs are copied as they arrive */
	/* For a stage that looks ahead, see ahead.h. */
	struct format_merge *ahead;
	struct format_merge_input merged;
	int (*see)(void *context, const struct ptl_event *event);
	void *see_context;
	bool ask_again; /* ask the stages again about dropped streams */
	bool telling;   /* records are passed again, for streams not yet declared */
};

/*
 * Passes a trace that is being written, until it is over: records, events, streams, and blobs unless a callback decides
 * about blobs.
 */
int format_relogger_pass_live(struct ptl_relogger *relogger);

#endif
