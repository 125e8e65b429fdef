/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts the branches and lines of calls in a segment, and divides times among lines. */
#include "dump/why/why_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"

/* ---- places -------------------------------------------------------------------------------------- */

static int add_place(struct dump_why_places *places, const struct dump_why_place *like, uint32_t *number)
{
	if (COMMON_VECTOR_RESERVE(places->list, places->capacity, places->count + 1, "places"))
		return PTL_NO_MEMORY;
	*number = (uint32_t)places->count;
	places->list[places->count] = *like;
	places->list[places->count].first = UINT64_MAX;
	places->count++;
	return 0;
}

/* Counts an execution of a place in a call. first: instructions of the call before. */
static int count_place(struct dump_why_part *part, bool is_line, uint32_t number, size_t call, uint64_t count,
		       uint64_t first)
{
	struct dump_why_place *place = &(is_line ? &part->lines : &part->branches)->list[number];
	const bool slow = part->why->set.calls[call].slow;

	place->sums[slow ? DUMP_WHY_SLOW : DUMP_WHY_OTHER].count += count;
	if (place->last == call + 1)
		return 0;
	place->last = call + 1;
	if (slow && first < place->first)
		place->first = first;
	if (COMMON_VECTOR_RESERVE(part->presences, part->presence_capacity, part->presence_count + 1, "places"))
		return PTL_NO_MEMORY;
	part->presences[part->presence_count++] = (struct dump_why_presence){number, is_line, call};
	return 0;
}

/* ---- blocks -------------------------------------------------------------------------------------- */

/* Finds the line of an instruction; without a line, the place of its block. */
static int find_line(struct dump_why_part *part, const struct flow_block *block, uint64_t address, uint32_t *number)
{
	struct dump_why_place like = {.kind = DUMP_WHY_LINE, .image = block->image, .address = address};
	struct {
		const void *file;
		uint64_t line;
	} key;
	const uint64_t *known;
	int status;

	if (!flow_sources_find(part->why->sources, block->image, address, &like.file, &like.line))
		like = (struct dump_why_place){.kind = DUMP_WHY_BLOCK, .image = block->image, .address = block->ip};
	key.file = like.kind == DUMP_WHY_LINE ? (const void *)like.file : block;
	key.line = like.line;
	known = common_byte_map_get(&part->by_line, &key, sizeof(key));
	if (known) {
		*number = (uint32_t)*known;
		return 0;
	}
	status = add_place(&part->lines, &like, number);
	return status == 0 ? common_byte_map_put(&part->by_line, &key, sizeof(key), *number) : status;
}

/* Lists the lines of a block, with the instructions of each. */
static int list_lines(struct dump_why_part *part, struct dump_why_block *known)
{
	const struct flow_block *block = known->block;
	uint64_t address = block->ip;

	known->first_line = (uint32_t)part->block_line_count;
	for (uint32_t i = 0; i < block->instructions; i++) {
		struct dump_why_block_line *last = part->block_line_count > known->first_line
							   ? &part->block_lines[part->block_line_count - 1]
							   : NULL;
		uint32_t line;

		if (find_line(part, block, address, &line))
			return PTL_NO_MEMORY;
		address += block->lengths[i];
		if (last && last->line == line) {
			last->instructions++;
			continue;
		}
		if (COMMON_VECTOR_RESERVE(part->block_lines, part->block_line_capacity, part->block_line_count + 1,
					  "lines"))
			return PTL_NO_MEMORY;
		part->block_lines[part->block_line_count++] = (struct dump_why_block_line){line, 1};
	}
	known->line_count = (uint32_t)(part->block_line_count - known->first_line);
	return 0;
}

static int find_block(struct dump_why_part *part, const struct flow_block *block, uint32_t *number)
{
	const uint64_t *known = common_hash_map_get(&part->by_block, (uintptr_t)block);
	struct dump_why_block *added;

	if (known) {
		*number = (uint32_t)*known;
		return 0;
	}
	if (COMMON_VECTOR_RESERVE(part->blocks, part->block_capacity, part->block_count + 1, "blocks"))
		return PTL_NO_MEMORY;
	*number = (uint32_t)part->block_count;
	added = &part->blocks[part->block_count++];
	*added = (struct dump_why_block){.block = block};
	if (common_hash_map_put(&part->by_block, (uintptr_t)block, *number))
		return PTL_NO_MEMORY;
	return list_lines(part, added);
}

/* ---- branches ------------------------------------------------------------------------------------ */

static struct dump_why_place branch_of(const struct flow_block *block, uint8_t way)
{
	return (struct dump_why_place){.image = block->image, .address = block->last_ip, .way = way};
}

static int settle_conditional(struct dump_why_part *part, uint64_t to)
{
	const struct dump_why_pending *last = &part->last;
	struct dump_why_block *from = &part->blocks[last->block];
	const uint8_t way = to == from->block->ip + from->block->size ? DUMP_WHY_NOT_TAKEN : DUMP_WHY_TAKEN;
	uint32_t *known = &from->branches[way];
	uint32_t number = *known - 1;

	if (!*known) {
		const struct dump_why_place like = branch_of(from->block, way);

		if (add_place(&part->branches, &like, &number))
			return PTL_NO_MEMORY;
		*known = number + 1;
	}
	return count_place(part, false, number, last->call, 1, last->first);
}

static int settle_indirect(struct dump_why_part *part, uint32_t to)
{
	const struct dump_why_pending *last = &part->last;
	const uint64_t key = (uint64_t)last->block << 32 | to;
	const uint64_t *known = common_hash_map_get(&part->by_edge, key);
	uint32_t number = known ? (uint32_t)*known : 0;

	if (!known) {
		struct dump_why_place like = branch_of(part->blocks[last->block].block, DUMP_WHY_TO);

		like.target = part->blocks[to].block->ip;
		like.target_image = part->blocks[to].block->image;
		if (add_place(&part->branches, &like, &number) || common_hash_map_put(&part->by_edge, key, number))
			return PTL_NO_MEMORY;
	}
	return count_place(part, false, number, last->call, 1, last->first);
}

/* The flow goes on at an address. block: UINT32_MAX if the place is no known block. */
static int settle(struct dump_why_part *part, uint64_t to, uint32_t block)
{
	const struct flow_block *from;

	if (!part->last.valid)
		return 0;
	from = part->blocks[part->last.block].block;
	if (from->branch == FLOW_BRANCH_CONDITIONAL)
		return settle_conditional(part, to);
	return block == UINT32_MAX ? 0 : settle_indirect(part, block);
}

static bool has_ways(const struct flow_block *block)
{
	return block->branch == FLOW_BRANCH_CONDITIONAL || block->branch == FLOW_BRANCH_JUMP_INDIRECT ||
	       block->branch == FLOW_BRANCH_CALL_INDIRECT;
}

/* ---- times --------------------------------------------------------------------------------------- */

static int reserve_lines(struct dump_why_part *part)
{
	for (int side = 0; side < DUMP_WHY_SIDES; side++) {
		const size_t before = part->line_instruction_capacity[side];

		if (COMMON_VECTOR_RESERVE(part->line_instructions[side], part->line_instruction_capacity[side],
					  part->lines.count, "lines"))
			return PTL_NO_MEMORY;
		memset(part->line_instructions[side] + before, 0,
		       (part->line_instruction_capacity[side] - before) * sizeof(uint64_t));
	}
	return 0;
}

/* Adds the group's instructions of each line, by side. */
static void sum_lines(struct dump_why_part *part)
{
	for (size_t i = 0; i < part->touched_count; i++) {
		const struct dump_why_block *block = &part->blocks[part->touched[i]];

		for (uint32_t k = 0; k < block->line_count; k++) {
			const struct dump_why_block_line *line = &part->block_lines[block->first_line + k];

			for (int side = 0; side < DUMP_WHY_SIDES; side++)
				part->line_instructions[side][line->line] += block->in_group[side] /
									     block->block->instructions *
									     line->instructions;
		}
	}
}

/* Adds a duration and cycles to a line, and clears the line's instructions. */
static void give_time(struct dump_why_part *part, uint32_t line, int side, uint64_t duration, uint64_t cycles)
{
	uint64_t *instructions = &part->line_instructions[side][line];
	struct dump_why_place_sum *sum = &part->lines.list[line].sums[side];

	if (!*instructions)
		return;
	sum->time += (double)duration * (double)*instructions / (double)part->executed;
	sum->cycles += (double)cycles * (double)*instructions / (double)part->executed;
	sum->cycle_instructions += cycles ? *instructions : 0;
	sum->least += *instructions == part->executed ? duration : 0;
	sum->most += duration;
	*instructions = 0;
}

/* Ends the group at a time, with so many cycles before. */
static int end_group(struct dump_why_part *part, uint64_t time, uint64_t before)
{
	const uint64_t cycles = before > part->cycles ? before - part->cycles : 0;
	const uint64_t duration = part->time && time > part->time ? time - part->time : 0;
	int status = duration && part->touched_count ? reserve_lines(part) : 0;

	if (status < 0)
		return status;
	if (duration && part->touched_count)
		sum_lines(part);
	for (size_t i = 0; i < part->touched_count; i++) {
		struct dump_why_block *block = &part->blocks[part->touched[i]];

		for (uint32_t k = 0; duration && k < block->line_count; k++)
			for (int side = 0; side < DUMP_WHY_SIDES; side++)
				give_time(part, part->block_lines[block->first_line + k].line, side, duration, cycles);
		memset(block->in_group, 0, sizeof(block->in_group));
	}
	part->timed |= duration != 0;
	part->touched_count = 0;
	part->executed = 0;
	part->time = time;
	part->cycles = before;
	return 0;
}

/* The thread was not in its code since part->time: the time belongs to the line of the last instruction. */
static void end_wait(struct dump_why_part *part, uint64_t time)
{
	const struct dump_why_block *block = &part->blocks[part->last_block];
	const uint64_t duration = part->time && time > part->time ? time - part->time : 0;

	part->waits = false;
	part->time = time;
	if (part->last_is_inside && block->line_count) {
		const uint32_t line = part->block_lines[block->first_line + block->line_count - 1].line;
		struct dump_why_place_sum *sum = &part->lines.list[line].sums[part->last_side];

		sum->time += (double)duration;
		sum->least += duration;
		sum->most += duration;
	}
}

static int move_time(struct dump_why_part *part, uint64_t time, uint64_t cycles)
{
	if (!time || time == part->time)
		return 0;
	if (part->waits)
		end_wait(part, time);
	return end_group(part, time, cycles);
}

/* ---- flow ---------------------------------------------------------------------------------------- */

static void land(struct dump_why_part *part, bool known, uint64_t ip)
{
	if (part->has_landed)
		return;
	part->has_landed = true;
	part->landed_is_known = known;
	part->landed_at = ip;
}

static int take_event(struct dump_why_part *part, const struct flow_event *event)
{
	const bool leaves = event->kind == FLOW_DISABLED || event->kind == FLOW_ASYNC_DISABLED;
	bool known = false;
	uint64_t ip = 0;
	int status = 0;

	if (!flow_event_splits(event->kind))
		return 0;
	if (event->kind == FLOW_DISABLED) {
		known = event->flags & FLOW_EVENT_HAS_TO;
		ip = event->to;
	} else if (event->kind != FLOW_GAP && event->kind != FLOW_ENABLED) {
		known = event->flags & FLOW_EVENT_HAS_FROM;
		ip = event->from;
	}
	land(part, known, ip);
	if (known)
		status = settle(part, ip, UINT32_MAX);
	part->last.valid = false;
	if (status == 0)
		status = move_time(part, event->time, event->cycles);
	/* In a gap, nobody knows what ran. */
	if (event->kind == FLOW_GAP)
		part->time = 0;
	part->waits = leaves && part->block_count && part->last_is_inside;
	return status;
}

static int take_inside(struct dump_why_part *part, const struct flow_span *span, uint32_t number)
{
	struct dump_why_block *block = &part->blocks[number];
	const size_t call = span->owner;
	const uint64_t first = part->passed[span - part->spans->list] + part->place.executed - span->first;
	const enum dump_why_side side = part->why->set.calls[call].slow ? DUMP_WHY_SLOW : DUMP_WHY_OTHER;
	int status = 0;

	part->last_side = side;
	for (uint32_t i = 0; status == 0 && i < block->line_count; i++) {
		const struct dump_why_block_line *line = &part->block_lines[block->first_line + i];

		status = count_place(part, true, line->line, call, line->instructions, first);
	}
	if (status == 0 && !block->in_group[DUMP_WHY_SLOW] && !block->in_group[DUMP_WHY_OTHER]) {
		status = COMMON_VECTOR_RESERVE(part->touched, part->touched_capacity, part->touched_count + 1,
					       "blocks");
		if (status == 0)
			part->touched[part->touched_count++] = number;
	}
	block->in_group[side] += block->block->instructions;
	part->last = (struct dump_why_pending){
		.valid = has_ways(block->block),
		.block = number,
		.call = call,
		.first = first,
	};
	return status;
}

static int take_block(struct dump_why_part *part, const struct flow_block *block, uint64_t time, uint64_t cycles)
{
	const struct flow_span *span = flow_span_here(&part->place);
	const bool wanted = span || part->last.valid;
	uint32_t number = UINT32_MAX;
	int status = move_time(part, time, cycles);

	land(part, true, block->ip);
	if (status == 0 && wanted)
		status = find_block(part, block, &number);
	if (status == 0)
		status = settle(part, block->ip, number);
	part->last.valid = false;
	part->waits = false;
	part->last_is_inside = span != NULL;
	if (status == 0 && span) {
		part->last_block = number;
		status = take_inside(part, span, number);
	}
	part->executed += block->instructions;
	part->place.executed += block->instructions;
	return status;
}

int dump_why_part_add(struct dump_why_part *part, const struct flow_batch *batch)
{
	struct flow_batch_cursor cursor = flow_batch_walk(batch);
	int status = 0;

	while (status == 0 && flow_batch_next(&cursor)) {
		const struct flow_mark *mark = flow_batch_mark(&cursor);

		status = cursor.block ? take_block(part, cursor.block, cursor.time, mark ? mark->cycles : 0)
				      : take_event(part, cursor.event);
	}
	return status;
}

int dump_why_part_end(struct dump_why_part *part, uint64_t end_time)
{
	const int status = move_time(part, end_time, part->cycles);

	/* Blocks do not outlive the segment. */
	if (part->last.valid) {
		const struct flow_block *block = part->blocks[part->last.block].block;

		part->last.valid = block->branch == FLOW_BRANCH_CONDITIONAL;
		part->last_branch = branch_of(block, DUMP_WHY_TAKEN);
		part->last_behind = block->ip + block->size;
	}
	free(part->blocks);
	free(part->block_lines);
	part->blocks = NULL;
	part->block_lines = NULL;
	common_hash_map_free(&part->by_block);
	common_hash_map_free(&part->by_edge);
	common_byte_map_free(&part->by_line);
	return status;
}

void dump_why_part_free(struct dump_why_part *part)
{
	common_hash_map_free(&part->by_block);
	common_hash_map_free(&part->by_edge);
	common_byte_map_free(&part->by_line);
	free(part->branches.list);
	free(part->lines.list);
	free(part->presences);
	free(part->blocks);
	free(part->block_lines);
	free(part->touched);
	for (int side = 0; side < DUMP_WHY_SIDES; side++)
		free(part->line_instructions[side]);
	free(part);
}
