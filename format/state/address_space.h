/* SPDX-License-Identifier: BSD-2-Clause */
/* Address spaces in all their versions: persistent search trees of pieces of memory. */
#ifndef FORMAT_STATE_ADDRESS_SPACE_H
#define FORMAT_STATE_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A range of addresses whose bytes come from one source. */
struct format_piece {
	uint64_t first; /* inclusive bounds, so that a range can end at the last address */
	uint64_t last;
	uint64_t offset; /* offset in the blob of the byte at address `first` */
	uint32_t image;  /* index in the timeline; FLOW_NONE: none */
	uint32_t blob;   /* number as for ptl_blob_at; FLOW_NONE: the bytes are not in the trace */
	bool code_event; /* the bytes come from a code event */
};

/*
 * Many trees in one pool. A tree is identified by its root (0 is the empty tree) and never changes once kept: a change
 * makes a new root that shares the unchanged part, and costs O(log n) nodes. One thread builds; any number of threads
 * may read. A zero-initialised pool is empty.
 */
struct format_pieces {
	struct format_piece_node *nodes;
	uint32_t count;
	uint32_t capacity;
	uint32_t free;  /* list of unused nodes */
	uint32_t epoch; /* nodes of this epoch are in no kept tree and may be changed in place */
	uint64_t random;
	bool failed; /* an allocation failed: trees made since then must not be used */
};

void format_pieces_free(struct format_pieces *pieces);

/* Keeps all trees made so far: they never change from now on. */
void format_pieces_keep(struct format_pieces *pieces);

/* Removes [first, last] from a tree; cuts pieces that extend beyond. Sets `failed` without memory. */
void format_pieces_remove(struct format_pieces *pieces, uint32_t *root, uint64_t first, uint64_t last);
/* Puts a piece into a tree, replacing what is in the piece's range. */
void format_pieces_put(struct format_pieces *pieces, uint32_t *root, const struct format_piece *piece);

/* Finds the piece that contains the address, or the next piece; false if neither exists. */
bool format_pieces_at_or_after(const struct format_pieces *pieces, uint32_t root, uint64_t address,
			       struct format_piece *piece);
/*
 * Finds the piece that contains the address. If there is none, returns false, and *piece is the hole around the address
 * (only first and last).
 */
bool format_pieces_find(const struct format_pieces *pieces, uint32_t root, uint64_t address,
			struct format_piece *piece);
/* Whether any piece overlaps [first, last]. */
bool format_pieces_any(const struct format_pieces *pieces, uint32_t root, uint64_t first, uint64_t last);

/*
 * Calls differs() with the range of each piece that is in only one of the trees, in order of `first`; ranges may
 * overlap. Skips what the trees share. Returns false if differs() returned false, which ends the comparison, or if a
 * tree is too deep.
 */
bool format_pieces_compare(const struct format_pieces *pieces, uint32_t one, uint32_t other,
			   bool (*differs)(void *context, uint64_t first, uint64_t last), void *context);

#endif
