/* SPDX-License-Identifier: BSD-2-Clause */
/* Of a trace that is being written, what becomes of a blob is known when an event first names it. */
#ifndef RELOG_REDACT_LIVE_H
#define RELOG_REDACT_LIVE_H

#include <ptl/reader.h>

#include "common/hash_map.h"

/* Zero-initialised: none has been named. */
struct relog_live_blobs {
	struct common_byte_map named; /* by hash: enum relog_live_blob */
	size_t late;                  /* that had to be left out */
};

enum relog_live_blob {
	RELOG_LIVE_DECIDED = 1,
	RELOG_LIVE_LATE, /* it had not come: its name stays in what was written */
};

/*
 * Calls decide once for each blob that the event, or an attachment, names and that is there: whole, and, of code, with the file that tells
 * its data. PTL_NO_MEMORY, what decide returns.
 */
int relog_live_blobs_event(struct relog_live_blobs *blobs, struct ptl_trace *trace, const struct ptl_event *event,
			   int (*decide)(void *context, struct ptl_trace *trace, const struct ptl_blob_info *blob),
			   void *context);
int relog_live_blobs_name(struct relog_live_blobs *blobs, struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE],
			  int (*decide)(void *context, struct ptl_trace *trace, const struct ptl_blob_info *blob),
			  void *context);
bool relog_live_blobs_is(const struct relog_live_blobs *blobs, const uint8_t hash[PTL_HASH_SIZE],
			 enum relog_live_blob what);
/* Warns of those that were left out. */
void relog_live_blobs_free(struct relog_live_blobs *blobs);

#endif
