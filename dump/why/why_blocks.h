/* SPDX-License-Identifier: BSD-2-Clause */
/* Branches and lines that the calls executed, by segment: the partial result of a view. */
#ifndef DUMP_WHY_WHY_BLOCKS_H
#define DUMP_WHY_WHY_BLOCKS_H

#include "dump/why/why.h"
#include "flow/view/view.h"

/* Branches or lines in order of their first execution. */
struct dump_why_places {
	struct dump_why_place *list; /* owned */
	size_t count, capacity;
};

/* A place was executed in a call, for the first time in this segment. */
struct dump_why_presence {
	uint32_t place;
	bool is_line;
	size_t call; /* index in the set */
};

/* A block of the segment. */
struct dump_why_block {
	const struct flow_block *block;
	uint32_t branches[2];              /* places of taken and not taken, plus one */
	uint32_t first_line, line_count;   /* range of `block_lines` */
	uint64_t in_group[DUMP_WHY_SIDES]; /* instructions in the current group of equal times */
};

struct dump_why_block_line {
	uint32_t line; /* place of the line */
	uint32_t instructions;
};

/* A branch whose way is not known yet. */
struct dump_why_pending {
	bool valid;
	uint32_t block;
	size_t call;
	uint64_t first; /* instructions of the call before the branch */
};

/* The result of a segment. */
struct dump_why_part {
	struct dump_why *why;
	const struct flow_spans *spans;
	const uint64_t *passed; /* by span: instructions of its call in earlier spans */
	struct flow_span_place place;
	struct dump_why_places branches, lines;
	struct dump_why_presence *presences; /* owned */
	size_t presence_count, presence_capacity;
	struct dump_why_block *blocks; /* owned */
	size_t block_count, block_capacity;
	struct dump_why_block_line *block_lines; /* owned */
	size_t block_line_count, block_line_capacity;
	struct common_hash_map by_block, by_edge; /* by pointer; by block and target block */
	struct common_byte_map by_line;           /* by pointer to the file's name, and line */
	struct dump_why_pending last;
	struct dump_why_place last_branch; /* of `last`, after the segment's end */
	uint64_t last_behind;              /* address behind it */
	bool has_landed, landed_is_known;  /* first block or event of the segment */
	uint64_t landed_at;
	/* Group of blocks with an equal time: */
	uint64_t time; /* 0: unknown */
	uint64_t cycles;
	uint64_t executed;
	uint32_t *touched; /* blocks of the group within calls; owned */
	size_t touched_count, touched_capacity;
	uint64_t *line_instructions[DUMP_WHY_SIDES]; /* by line; owned */
	size_t line_instruction_capacity[DUMP_WHY_SIDES];
	bool waits; /* the thread left its code behind the last block */
	uint32_t last_block;
	bool last_is_inside;
	enum dump_why_side last_side;
	bool timed;
};

/* Adds a batch. Returns 0 or PTL_NO_MEMORY. */
int dump_why_part_add(struct dump_why_part *part, const struct flow_batch *batch);
/* Ends the segment. end_time: time of the next segment of the flow; 0: unknown. Returns 0 or PTL_NO_MEMORY. */
int dump_why_part_end(struct dump_why_part *part, uint64_t end_time);
void dump_why_part_free(struct dump_why_part *part);

#endif
