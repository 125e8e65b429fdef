/* SPDX-License-Identifier: BSD-2-Clause */
/* Versions of address spaces, for those who look many addresses up in the same one. */
#ifndef PTL_FLOW_TIMELINE_QUERY_H
#define PTL_FLOW_TIMELINE_QUERY_H

#include "format/state/address_space.h"
#include "flow/timeline/timeline.h"

/* A process's address space as it is at some time. Equal roots are equal spaces. */
struct ptl_version {
	uint32_t root;  /* all pieces; 0: empty */
	uint32_t files; /* only those with their image's own bytes: changes more rarely */
	uint64_t until; /* the first time at which another version holds; PTL_TIME_END */
};

/* The version at time. process may be PTL_NONE: an empty one. */
void ptl_timeline_version(const struct ptl_timeline *timeline, uint32_t process, uint64_t time,
			  struct ptl_version *version);

/* As ptl_pieces_find and ptl_pieces_at_or_after do, with one of a version's roots. */
bool ptl_version_find(const struct ptl_timeline *timeline, uint32_t root, uint64_t address,
		      struct ptl_piece *piece);
bool ptl_version_next(const struct ptl_timeline *timeline, uint32_t root, uint64_t address,
		      struct ptl_piece *piece);

/* As ptl_pieces_compare does, with roots of two versions. */
bool ptl_version_compare(const struct ptl_timeline *timeline, uint32_t one, uint32_t other,
			 bool (*differs)(void *context, uint64_t first, uint64_t last), void *context);

/* Whether any image or code event ever gave its bytes by this blob. */
bool ptl_timeline_uses_blob(const struct ptl_timeline *timeline, uint32_t blob);

/* Whether there ever was code in memory that no image gives a name to. */
bool ptl_timeline_has_unnamed_code(const struct ptl_timeline *timeline);

/* Code that is not in the trace, but that a file may have: ptl-record --embed=none, ptl-relog --drop-code. */
struct ptl_outside_blob {
	uint8_t hash[PTL_HASH_SIZE]; /* of its bytes */
	const char *path;
	uint64_t file_offset;
	uint64_t size; /* the file may end before */
};

/* All of them, whose blob numbers follow those of the trace; returns how many. */
size_t ptl_timeline_outside(const struct ptl_timeline *timeline, const struct ptl_outside_blob **blobs);

#endif
