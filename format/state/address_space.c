/* SPDX-License-Identifier: BSD-2-Clause */
/* Persistent treaps of pieces: split and merge copy the nodes on their path and share all other nodes. */
#include "format/state/address_space.h"

#include <stdlib.h>
#include <sys/random.h>
#include "common/hash.h"
#include "common/vector.h"

struct format_piece_node {
	struct format_piece piece;
	uint32_t priority; /* at most the parent's; keeps the tree balanced */
	uint32_t epoch;
	uint32_t left;
	uint32_t right;
};

void format_pieces_free(struct format_pieces *pieces)
{
	free(pieces->nodes);
	*pieces = (struct format_pieces){0};
}

void format_pieces_keep(struct format_pieces *pieces)
{
	pieces->epoch++;
}

/* splitmix64. The seed is random, so that hostile addresses cannot make a tree deep. */
static uint32_t next_priority(struct format_pieces *pieces)
{
	uint64_t z = pieces->random += COMMON_HASH_FACTOR;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)(z >> 32);
}

static bool reserve_piece(struct format_pieces *pieces)
{
	if (pieces->failed || !COMMON_VECTOR_GROW(pieces->nodes, pieces->capacity, (size_t)pieces->capacity + 1))
		return false;
	if (!pieces->count) {
		if (getrandom(&pieces->random, sizeof(pieces->random), GRND_NONBLOCK) < 0)
			pieces->random = (uintptr_t)pieces->nodes;
		pieces->count = 1; /* node 0 is the empty tree */
		pieces->nodes[0] = (struct format_piece_node){0};
	}
	return true;
}

/* Returns a node of the current epoch; 0, and sets `failed`, without memory. */
static uint32_t new_node(struct format_pieces *pieces, const struct format_piece *piece)
{
	uint32_t node = pieces->free;

	if (node) {
		pieces->free = pieces->nodes[node].left;
	} else if (pieces->count < pieces->capacity || reserve_piece(pieces)) {
		node = pieces->count++;
	} else {
		pieces->failed = true;
		return 0;
	}
	pieces->nodes[node] = (struct format_piece_node){
		.piece = *piece,
		.priority = next_priority(pieces),
		.epoch = pieces->epoch,
	};
	return node;
}

/* Frees the nodes of a removed subtree that belong to no kept tree. */
static void give_back(struct format_pieces *pieces, uint32_t node)
{
	if (!node || pieces->nodes[node].epoch != pieces->epoch)
		return;
	give_back(pieces, pieces->nodes[node].left);
	give_back(pieces, pieces->nodes[node].right);
	pieces->nodes[node].left = pieces->free;
	pieces->free = node;
}

/* Returns a changeable node: the node itself if its epoch is current, else a copy. */
static uint32_t own(struct format_pieces *pieces, uint32_t node)
{
	struct format_piece_node copy = pieces->nodes[node];
	uint32_t made;

	if (copy.epoch == pieces->epoch)
		return node;
	made = new_node(pieces, &copy.piece);
	if (made) {
		copy.epoch = pieces->epoch;
		pieces->nodes[made] = copy;
	}
	return made;
}

/*
 * Merges two trees; all of `left` lies below all of `right`. The recursion is as deep as the trees: O(log n) by the
 * priorities.
 */
static uint32_t merge_trees(struct format_pieces *pieces, uint32_t left, uint32_t right)
{
	bool left_on_top;
	uint32_t top, child;

	if (!left || !right || pieces->failed)
		return left ? left : right;
	left_on_top = pieces->nodes[left].priority >= pieces->nodes[right].priority;
	top = own(pieces, left_on_top ? left : right);
	if (!top)
		return 0;
	if (left_on_top) {
		child = merge_trees(pieces, pieces->nodes[top].right, right);
		pieces->nodes[top].right = child;
	} else {
		child = merge_trees(pieces, left, pieces->nodes[top].left);
		pieces->nodes[top].left = child;
	}
	return top;
}

/* Cuts the piece of a node at `key`; the piece contains `key` and lower addresses. */
static void split_piece(struct format_pieces *pieces, uint32_t node, uint64_t key, uint32_t *below, uint32_t *above)
{
	struct format_piece_node whole = pieces->nodes[node];
	struct format_piece upper = whole.piece;
	uint32_t made;

	upper.offset += key - upper.first;
	upper.first = key;
	made = new_node(pieces, &upper);
	*below = own(pieces, node);
	if (!made || !*below)
		return;
	pieces->nodes[*below].piece.last = key - 1;
	pieces->nodes[*below].right = 0;
	*above = merge_trees(pieces, made, whole.right);
}

/* Splits a tree into the part below `key` and the rest. */
static void split_tree(struct format_pieces *pieces, uint32_t node, uint64_t key, uint32_t *below, uint32_t *above)
{
	const struct format_piece *piece;
	uint32_t top, part = 0;

	*below = *above = 0;
	if (!node || pieces->failed)
		return;
	piece = &pieces->nodes[node].piece;
	if (piece->first < key && piece->last >= key) {
		split_piece(pieces, node, key, below, above);
		return;
	}
	top = own(pieces, node);
	if (!top)
		return;
	if (pieces->nodes[top].piece.last < key) {
		split_tree(pieces, pieces->nodes[top].right, key, &part, above);
		pieces->nodes[top].right = part;
		*below = top;
	} else {
		split_tree(pieces, pieces->nodes[top].left, key, below, &part);
		pieces->nodes[top].left = part;
		*above = top;
	}
}

/* Removes [first, last]; returns the parts below and above. */
static void cut(struct format_pieces *pieces, uint32_t root, uint64_t first, uint64_t last, uint32_t *below,
		uint32_t *above)
{
	uint32_t rest, gone;

	split_tree(pieces, root, first, below, &rest);
	if (last == UINT64_MAX) {
		gone = rest;
		*above = 0;
	} else {
		split_tree(pieces, rest, last + 1, &gone, above);
	}
	if (!pieces->failed)
		give_back(pieces, gone);
}

void format_pieces_remove(struct format_pieces *pieces, uint32_t *root, uint64_t first, uint64_t last)
{
	uint32_t below, above;

	if (!format_pieces_any(pieces, *root, first, last))
		return;
	cut(pieces, *root, first, last, &below, &above);
	*root = merge_trees(pieces, below, above);
}

void format_pieces_put(struct format_pieces *pieces, uint32_t *root, const struct format_piece *piece)
{
	uint32_t below, above, made;

	cut(pieces, *root, piece->first, piece->last, &below, &above);
	made = new_node(pieces, piece);
	*root = merge_trees(pieces, merge_trees(pieces, below, made), above);
}

bool format_pieces_at_or_after(const struct format_pieces *pieces, uint32_t root, uint64_t address,
			       struct format_piece *piece)
{
	bool found = false;

	while (root) {
		const struct format_piece_node *node = &pieces->nodes[root];

		if (node->piece.last < address) {
			root = node->right;
			continue;
		}
		*piece = node->piece;
		if (node->piece.first <= address)
			return true;
		found = true;
		root = node->left;
	}
	return found;
}

bool format_pieces_find(const struct format_pieces *pieces, uint32_t root, uint64_t address, struct format_piece *piece)
{
	struct format_piece hole = {.first = 0, .last = UINT64_MAX};

	while (root) {
		const struct format_piece_node *node = &pieces->nodes[root];

		if (node->piece.last < address) {
			hole.first = node->piece.last + 1;
			root = node->right;
		} else if (node->piece.first > address) {
			hole.last = node->piece.first - 1;
			root = node->left;
		} else {
			*piece = node->piece;
			return true;
		}
	}
	*piece = hole;
	return false;
}

bool format_pieces_any(const struct format_pieces *pieces, uint32_t root, uint64_t first, uint64_t last)
{
	struct format_piece piece = {0};

	return format_pieces_at_or_after(pieces, root, first, &piece) && piece.first <= last;
}

/* --- comparing ------------------------------------------------------------------------------------------ */

/* Priorities are random: a tree of 2^32 nodes exceeds half this depth with a probability of only 10^-9. */
#define WALK_DEPTH 384

/*
 * An in-order walk. `ahead` has the remaining parts, the next part on top: whole subtrees, and nodes whose left side is
 * done.
 */
struct walk {
	struct {
		uint32_t node;
		bool alone; /* only the node's piece, without its subtrees */
	} ahead[WALK_DEPTH];
	unsigned depth;
};

static void walk_push(struct walk *walk, uint32_t node, bool alone)
{
	if (!node)
		return;
	walk->ahead[walk->depth].node = node;
	walk->ahead[walk->depth].alone = alone;
	walk->depth++;
}

/* Replaces the subtree on top by its parts; false if the tree is too deep. */
static bool walk_open(const struct format_pieces *pieces, struct walk *walk)
{
	uint32_t node = walk->ahead[--walk->depth].node;

	if (walk->depth + 3 > WALK_DEPTH)
		return false;
	walk_push(walk, pieces->nodes[node].right, false);
	walk_push(walk, node, true);
	walk_push(walk, pieces->nodes[node].left, false);
	return true;
}

/* Returns the subtree on top of the walk, or 0. */
static uint32_t walk_subtree(const struct walk *walk)
{
	return walk->depth && !walk->ahead[walk->depth - 1].alone ? walk->ahead[walk->depth - 1].node : 0;
}

static const struct format_piece *walk_piece(const struct format_pieces *pieces, const struct walk *walk)
{
	return walk->depth ? &pieces->nodes[walk->ahead[walk->depth - 1].node].piece : NULL;
}

static bool same_piece(const struct format_piece *a, const struct format_piece *b)
{
	return a->first == b->first && a->last == b->last && a->offset == b->offset && a->image == b->image &&
	       a->blob == b->blob && a->code_event == b->code_event;
}

/*
 * Skips a subtree that both walks share, or opens a subtree. A subtree's nodes have at most the priority of its root,
 * so of two subtrees, the one with the lower priority may be part of the other. Returns 1 after a step, 0 if pieces are
 * on top, -1 if too deep.
 */
static int walk_subtrees(const struct format_pieces *pieces, struct walk *a, struct walk *b)
{
	uint32_t in_a = walk_subtree(a), in_b = walk_subtree(b);
	bool open_a, open_b;

	if (!in_a && !in_b)
		return 0;
	if (in_a == in_b) {
		a->depth--;
		b->depth--;
		return 1;
	}
	open_a = in_a && (!in_b || pieces->nodes[in_a].priority >= pieces->nodes[in_b].priority);
	open_b = in_b && (!in_a || pieces->nodes[in_b].priority >= pieces->nodes[in_a].priority);
	if ((open_a && !walk_open(pieces, a)) || (open_b && !walk_open(pieces, b)))
		return -1;
	return 1;
}

bool format_pieces_compare(const struct format_pieces *pieces, uint32_t one, uint32_t other,
			   bool (*differs)(void *context, uint64_t first, uint64_t last), void *context)
{
	struct walk a, b;

	a.depth = b.depth = 0;
	walk_push(&a, one, false);
	walk_push(&b, other, false);
	while (a.depth || b.depth) {
		int walked = walk_subtrees(pieces, &a, &b);
		const struct format_piece *in_a, *in_b, *first;

		if (walked < 0)
			return false;
		if (walked)
			continue;
		in_a = walk_piece(pieces, &a);
		in_b = walk_piece(pieces, &b);
		first = !in_b || (in_a && in_a->first <= in_b->first) ? in_a : in_b;
		if (in_a && in_b && same_piece(in_a, in_b)) {
			a.depth--;
			b.depth--;
			continue;
		}
		if (!differs(context, first->first, first->last))
			return false;
		if (first == in_a)
			a.depth--;
		else
			b.depth--;
	}
	return true;
}
