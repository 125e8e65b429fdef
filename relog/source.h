/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A trace file as an input: what is there when it is opened, from a file or a pipe, and its hash.
 */
#ifndef PTL_RELOG_SOURCE_H
#define PTL_RELOG_SOURCE_H

#include <stdint.h>

#include <ptl/reader.h>

struct relog_source {
	const char *name; /* for messages and provenance: the path, or "(standard input)" */
	struct ptl_trace *trace;
	int fd; /* the same file, for its bytes as they are */
};

/*
 * Opens path, or standard input for "-". A pipe is first copied to an unlinked file in $TMPDIR. A
 * file that is being written is taken as it is now: bytes that come later are not looked at.
 * PTL_SYSTEM, PTL_CANCELLED, and what ptl_open gives.
 */
int relog_source_open(struct relog_source *source, const char *path);

/*
 * The SHA-256 of the bytes that the trace was opened with, and their number. PTL_SYSTEM,
 * PTL_NO_MEMORY, ...
 */
int relog_source_hash(const struct relog_source *source, uint8_t hash[PTL_HASH_SIZE],
		      uint64_t *size);

void relog_source_close(struct relog_source *source);

#endif
