/* SPDX-License-Identifier: BSD-2-Clause */
/* Address spaces whose every version stays: persistent search trees of pieces of memory. */
#ifndef FORMAT_STATE_ADDRESS_SPACE_H
#define FORMAT_STATE_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A range of addresses whose bytes come from one place. */
struct format_piece {
	uint64_t first; /* both inclusive, so that the last byte of the address space can be meant */
	uint64_t last;
	uint64_t offset; /* in the blob, of the byte at first */
	uint32_t image;  /* index in the timeline, FLOW_NONE */
	uint32_t blob;   /* as in ptl_blob_at, FLOW_NONE: the bytes are not in the trace */
	bool code_event; /* the bytes were given by a code event */
};

/*
 * Many trees in one pool. A tree is named by its root (0 is the empty tree) and is never changed
 * once it has been kept: changing it makes a new root that shares what is the same, at a cost of
 * O(log n) nodes. Building is for one thread; reading is for any number. Zero-initialised is empty.
 */
struct format_pieces {
	struct format_piece_node *nodes;
	uint32_t count;
	uint32_t capacity;
	uint32_t free;  /* a list of nodes that no tree has any more */
	uint32_t epoch; /* nodes of this epoch are in no kept tree, and may be changed in place */
	uint64_t random;
	bool failed; /* an allocation failed: trees made since are not to be used */
};

void format_pieces_free(struct format_pieces *pieces);

/* Keeps all trees made so far: from now on they are never changed. */
void format_pieces_keep(struct format_pieces *pieces);

/* Whatever lies in [first, last] goes; pieces that extend beyond are cut. Failure: see `failed`. */
void format_pieces_remove(struct format_pieces *pieces, uint32_t *root, uint64_t first, uint64_t last);
/* Removes what lies in the piece's range, and puts the piece there. */
void format_pieces_put(struct format_pieces *pieces, uint32_t *root, const struct format_piece *piece);

/* The piece that holds address, or the first one behind it; false: there is none. */
bool format_pieces_at_or_after(const struct format_pieces *pieces, uint32_t root, uint64_t address,
			       struct format_piece *piece);
/* The piece that holds address; false: *piece is the hole around it (first, last only). */
bool format_pieces_find(const struct format_pieces *pieces, uint32_t root, uint64_t address,
			struct format_piece *piece);
/* Whether any piece lies in [first, last]. */
bool format_pieces_any(const struct format_pieces *pieces, uint32_t root, uint64_t first, uint64_t last);

/*
 * Calls `differs` with the range of each piece that is in one of the trees and not in the other, in order of `first`; ranges
 * may overlap. What the trees share is not looked at. False: `differs` said so, which ends it, or a tree is too
 * deep to be compared.
 */
bool format_pieces_compare(const struct format_pieces *pieces, uint32_t one, uint32_t other,
			   bool (*differs)(void *context, uint64_t first, uint64_t last), void *context);

#endif
