/* SPDX-License-Identifier: BSD-2-Clause */
/* Versions of address spaces, for those who look many addresses up in the same one. */
#ifndef FLOW_TIMELINE_QUERY_H
#define FLOW_TIMELINE_QUERY_H

#include "format/state/address_space.h"
#include "flow/timeline/timeline.h"

/*
 * An address space, by its two trees: the process's own (the lower 32 bits) and the kernel's, process 0's, of which every process
 * has what lies in the upper half of the addresses and is not covered by its own. Equal roots are equal spaces; 0: empty.
 */
typedef uint64_t flow_root;

/* A process's address space as it is at some time. */
struct flow_version {
	flow_root root;  /* all pieces */
	flow_root files; /* only those with their image's own bytes: changes more rarely */
	uint64_t until;  /* the first time at which another version holds; FLOW_TIME_END */
	/* The first time behind it at which one holds that an injected event made. Those between are in it. */
	uint64_t until_injected;
};

/* The version at time. process may be FLOW_NONE: an empty one. */
void flow_timeline_version(const struct flow_timeline *timeline, uint32_t process, uint64_t time,
			   struct flow_version *version);

/*
 * As format_pieces_find and format_pieces_at_or_after do, with one of a version's roots; of a piece of the kernel's that the process's
 * own hide in part, what is left around the address.
 */
bool flow_version_find(const struct flow_timeline *timeline, flow_root root, uint64_t address,
		       struct format_piece *piece);
bool flow_version_next(const struct flow_timeline *timeline, flow_root root, uint64_t address,
		       struct format_piece *piece);

/* As format_pieces_compare does, with roots of two versions. */
bool flow_version_compare(const struct flow_timeline *timeline, flow_root one, flow_root other,
			  bool (*differs)(void *context, uint64_t first, uint64_t last), void *context);

/* The first image with the same data as this one, in whatever process: what runs in both is the same. FLOW_NONE stays. */
uint32_t flow_timeline_alike(const struct flow_timeline *timeline, uint32_t image);

/* Whether any image or code event ever gave its bytes by this blob. */
bool flow_timeline_uses_blob(const struct flow_timeline *timeline, uint32_t blob);

/* Whether there ever was code in memory that no image gives a name to. */
bool flow_timeline_has_unnamed_code(const struct flow_timeline *timeline);

/*
 * Code that is not in the trace, but that a file or a code store may have: ptl-record --embed=none, ptl-relog --drop-code and
 * --detach-code.
 */
struct flow_outside_blob {
	uint8_t hash[PTL_HASH_SIZE]; /* of its bytes */
	const char *path;            /* "": no file has it */
	uint64_t file_offset;
	uint64_t size; /* the file may end before */
};

/* All of them, whose blob numbers follow those of the trace; returns how many. */
size_t flow_timeline_outside(const struct flow_timeline *timeline, const struct flow_outside_blob **blobs);

#endif
