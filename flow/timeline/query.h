/* SPDX-License-Identifier: BSD-2-Clause */
/* Versions of address spaces: for callers that look up many addresses in one address space. */
#ifndef FLOW_TIMELINE_QUERY_H
#define FLOW_TIMELINE_QUERY_H

#include "format/state/address_space.h"
#include "flow/timeline/timeline.h"

/*
 * An address space, as a pair of trees: the process's own tree (lower 32 bits) and the kernel's tree, of process 0
 * (upper 32 bits). The kernel's tree holds for addresses in the upper half that the process's own tree does not cover.
 * Equal roots are equal spaces; 0: empty.
 */
typedef uint64_t flow_root;

/* A process's address space at some time. */
struct flow_version {
	flow_root root;  /* all pieces */
	flow_root files; /* only pieces with bytes of their image; changes more rarely than `root` */
	uint64_t until;  /* first time of the next version; FLOW_TIME_END */
	/*
	 * First time, after this version, of a version made by an injected event. Injected versions in between are
	 * included.
	 */
	uint64_t until_injected;
};

/* Finds the version at time. If process is FLOW_NONE, the version is empty. */
void flow_timeline_version(const struct flow_timeline *timeline, uint32_t process, uint64_t time,
			   struct flow_version *version);

/*
 * As format_pieces_find and format_pieces_at_or_after, with the root of a version. If the process's own pieces hide
 * part of a kernel's piece, the result is the remaining part around the address.
 */
bool flow_version_find(const struct flow_timeline *timeline, flow_root root, uint64_t address,
		       struct format_piece *piece);
bool flow_version_next(const struct flow_timeline *timeline, flow_root root, uint64_t address,
		       struct format_piece *piece);

/* As format_pieces_compare, with the roots of two versions. */
bool flow_version_compare(const struct flow_timeline *timeline, flow_root one, flow_root other,
			  bool (*differs)(void *context, uint64_t first, uint64_t last), void *context);

/*
 * Returns the first image with equal data, of any process. Code in equal images is equal. Returns FLOW_NONE for
 * FLOW_NONE.
 */
uint32_t flow_timeline_alike(const struct flow_timeline *timeline, uint32_t image);

/* Returns the process whose compiler gave an image its names; FLOW_NONE: no compiler did. */
uint32_t flow_timeline_maker(const struct flow_timeline *timeline, uint32_t image);

/* Checks whether any image or code event ever took its bytes from the blob. */
bool flow_timeline_uses_blob(const struct flow_timeline *timeline, uint32_t blob);

/* Checks whether there ever was code in memory without a named image. */
bool flow_timeline_has_unnamed_code(const struct flow_timeline *timeline);

/*
 * Code that is missing in the trace, but that a file or a code store may have: ptl-record --embed=none, ptl-relog
 * --drop-code and --detach-code.
 */
struct flow_outside_blob {
	uint8_t hash[PTL_HASH_SIZE]; /* hash of the bytes */
	const char *path;            /* path of the file; "": no file */
	uint64_t file_offset;
	uint64_t size; /* bytes; the file may be shorter */
};

/* Stores the array of all outside blobs in *blobs; the first one has the number ptl_blob_count. Returns the count. */
size_t flow_timeline_outside(const struct flow_timeline *timeline, const struct flow_outside_blob **blobs);

#endif
