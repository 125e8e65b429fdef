/* SPDX-License-Identifier: BSD-2-Clause */
/* Blobs of a trace that is being written. Redaction decides the fate of a blob when an event first names the blob. */
#ifndef RELOG_REDACT_LIVE_H
#define RELOG_REDACT_LIVE_H

#include <ptl/reader.h>

#include "common/hash_map.h"

/* Zero-initialised: no blob was named. */
struct relog_live_blobs {
	struct common_byte_map named; /* blob's hash: enum relog_live_blob */
	size_t late;                  /* blobs that arrived too late, and were left out */
};

enum relog_live_blob {
	RELOG_LIVE_DECIDED = 1,
	RELOG_LIVE_LATE, /* The blob had not arrived: its original hash stays in written events. */
};

/*
 * Calls `decide` once for each blob that an event or an attachment names and that has arrived completely. The blob of
 * an image's code also needs its file, which tells code from data. Returns PTL_NO_MEMORY, or the errors of `decide`.
 */
int relog_live_blobs_event(struct relog_live_blobs *blobs, struct ptl_trace *trace, const struct ptl_event *event,
			   int (*decide)(void *context, struct ptl_trace *trace, const struct ptl_blob_info *blob),
			   void *context);
int relog_live_blobs_name(struct relog_live_blobs *blobs, struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE],
			  int (*decide)(void *context, struct ptl_trace *trace, const struct ptl_blob_info *blob),
			  void *context);
bool relog_live_blobs_is(const struct relog_live_blobs *blobs, const uint8_t hash[PTL_HASH_SIZE],
			 enum relog_live_blob what);
/* Warns of late blobs. */
void relog_live_blobs_free(struct relog_live_blobs *blobs);

#endif
