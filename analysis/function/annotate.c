/* SPDX-License-Identifier: BSD-2-Clause */
/* Splits the blocks of a function into instructions, adds instructions that did not run, and counts lines. */
#include "analysis/function/annotate.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/partition.h"
#include "common/vector.h"

/* Bytes of code that are filled in at most, between two executed instructions: a symbol may claim any size. */
#define FILL_MAX ((uint64_t)1 << 20)

struct annotating {
	const struct analysis_annotator *annotator;
	const struct analysis_code_range *function;
	struct analysis_annotation *result;
	struct analysis_annotated_instruction *ran; /* executed instructions, sorted by address */
	size_t ran_count;
	flow_root root; /* root of the address space, for reading code that did not run */
};

static int append_instruction(struct analysis_annotated_instruction **list, size_t *count,
			      const struct analysis_annotated_instruction *instruction)
{
	if (!common_vector_room(list, *count, sizeof(*instruction)))
		return common_fail_memory("instructions", *count * sizeof(*instruction));
	(*list)[(*count)++] = *instruction;
	return 0;
}

/* ---- executed code ------------------------------------------------------------------------------- */

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_count(const void *a_, const void *b_)
{
	const struct analysis_branch_target *a = a_, *b = b_;

	return a->count != b->count ? compare_numbers(b->count, a->count) : compare_numbers(a->block, b->block);
}

/* Adds the targets of the block's indirect branch. The profile's edges are sorted by block. */
static int add_targets(struct annotating *annotating, size_t block, struct analysis_annotated_instruction *instruction)
{
	const struct analysis_profile *profile = &annotating->annotator->profile;
	struct analysis_annotation *result = annotating->result;
	size_t low = COMMON_PARTITION(profile->edge_count, at, profile->edges[at].from < block);

	instruction->first_target = result->target_count;
	for (; low < profile->edge_count && profile->edges[low].from == block; low++) {
		if (!common_vector_room(&result->targets, result->target_count, sizeof(*result->targets)))
			return common_fail_memory("targets", result->target_count * sizeof(*result->targets));
		result->targets[result->target_count++] = (struct analysis_branch_target){profile->edges[low].to,
											  profile->edges[low].count};
	}
	instruction->target_count = result->target_count - instruction->first_target;
	if (instruction->target_count)
		qsort(result->targets + instruction->first_target, instruction->target_count, sizeof(*result->targets),
		      by_count);
	return 0;
}

static int annotate_add_block(struct annotating *annotating, size_t number)
{
	const struct analysis_profile_block *block = &annotating->annotator->profile.blocks[number];
	const uint8_t *code = block->code;
	uint64_t address = block->address;
	int status = 0;

	for (uint32_t i = 0; !status && i < block->instructions; i++) {
		struct analysis_annotated_instruction instruction = {
			.address = address, .count = block->count, .length = block->lengths[i], .mode = block->mode};

		memcpy(instruction.bytes, code, instruction.length);
		if (i + 1 == block->instructions) {
			instruction.branch = block->branch;
			instruction.taken = block->taken;
			instruction.not_taken = block->not_taken;
			instruction.target = block->target;
			status = add_targets(annotating, number, &instruction);
		}
		if (!status && address >= annotating->function->first && address < annotating->function->end)
			status = append_instruction(&annotating->ran, &annotating->ran_count, &instruction);
		address += instruction.length;
		code += instruction.length;
	}
	return status;
}

static int by_address(const void *a_, const void *b_)
{
	const struct analysis_annotated_instruction *a = a_, *b = b_;
	int order = compare_numbers(a->address, b->address);

	if (!order)
		order = compare_numbers(a->length, b->length);
	return order ? order : memcmp(a->bytes, b->bytes, a->length);
}

/*
 * Merges entries of one instruction in several blocks. A block may end at the instruction or continue past the
 * instruction.
 */
static void join_instructions(struct annotating *annotating)
{
	struct analysis_annotated_instruction *ran = annotating->ran;
	size_t kept = 0;

	for (size_t i = 0; i < annotating->ran_count; i++) {
		struct analysis_annotated_instruction *last = kept ? &ran[kept - 1] : NULL;

		if (!last || by_address(last, &ran[i]) != 0) {
			ran[kept++] = ran[i];
			continue;
		}
		last->count += ran[i].count;
		last->taken += ran[i].taken;
		last->not_taken += ran[i].not_taken;
		if (ran[i].branch) {
			last->branch = ran[i].branch;
			last->target = ran[i].target;
		}
		if (ran[i].target_count > last->target_count) {
			last->first_target = ran[i].first_target;
			last->target_count = ran[i].target_count;
		}
	}
	annotating->ran_count = kept;
}

/* Returns the content's first block at or after the address. */
static size_t first_block(const struct analysis_profile *profile, uint32_t content, uint64_t address)
{
	const struct analysis_profile_block *blocks = profile->blocks;

	return COMMON_PARTITION(profile->block_count, at,
				blocks[at].content < content ||
					(blocks[at].content == content && blocks[at].address < address));
}

static int take_blocks(struct annotating *annotating)
{
	const struct analysis_code_range *function = annotating->function;
	const struct analysis_profile *profile = &annotating->annotator->profile;
	const uint64_t first = function->first > profile->largest ? function->first - profile->largest : 0;
	int status = 0;

	for (size_t i = first_block(profile, function->content, first); !status && i < profile->block_count; i++) {
		const struct analysis_profile_block *block = &profile->blocks[i];

		if (block->content != function->content || block->address >= function->end)
			break;
		if (block->address + block->size > function->first)
			status = annotate_add_block(annotating, i);
	}
	if (annotating->ran_count)
		qsort(annotating->ran, annotating->ran_count, sizeof(*annotating->ran), by_address);
	join_instructions(annotating);
	return status;
}

/* ---- code that did not run ----------------------------------------------------------------------- */

static int fill_range(struct annotating *annotating, uint64_t from, uint64_t to)
{
	const struct analysis_annotator *annotator = annotating->annotator;
	const uint32_t image = annotating->function->image;
	const uint8_t mode = annotating->ran_count ? annotating->ran[0].mode : 64;
	int status = 0;

	if (annotator->executed)
		return 0;
	if (to - from > FILL_MAX && from < to)
		to = from + FILL_MAX;
	while (!status && from < to) {
		struct analysis_annotated_instruction instruction = {.address = from, .mode = mode};
		const uint64_t ip = analysis_address_in_process(annotator->timeline, image, from);
		struct flow_instruction decoded;
		size_t size = flow_code_read(annotator->code, annotating->root, ip, instruction.bytes,
					     sizeof(instruction.bytes));

		if (!size)
			return 0;
		/* An instruction ends at the latest where an executed instruction begins. */
		if (size > to - from)
			size = (size_t)(to - from);
		if (flow_instruction_decode(instruction.bytes, size, mode, ip, &decoded) == 0) {
			instruction.length = decoded.length;
			instruction.branch = decoded.branch;
			instruction.target = decoded.direct ? decoded.target - ip + from : 0;
		} else {
			instruction.length = 1;
		}
		from += instruction.length;
		status = append_instruction(&annotating->result->instructions, &annotating->result->count,
					    &instruction);
	}
	return status;
}

static int put_together(struct annotating *annotating)
{
	struct analysis_annotation *result = annotating->result;
	uint64_t at = annotating->function->first;
	int status = 0;

	for (size_t i = 0; !status && i < annotating->ran_count; i++) {
		const struct analysis_annotated_instruction *ran = &annotating->ran[i];

		status = fill_range(annotating, at, ran->address);
		if (!status)
			status = append_instruction(&result->instructions, &result->count, ran);
		if (ran->address + ran->length > at)
			at = ran->address + ran->length;
		result->executed += ran->count;
		if (ran->count > result->most)
			result->most = ran->count;
	}
	return status ? status : fill_range(annotating, at, annotating->function->end);
}

/* Finds the code of the image at its load time. */
static void find_root(struct annotating *annotating)
{
	const struct flow_timeline *timeline = annotating->annotator->timeline;
	struct flow_version version = {0};

	if (annotating->function->image != FLOW_NONE) {
		const struct flow_timeline_image *image = flow_timeline_image(timeline, annotating->function->image);

		flow_timeline_version(timeline, image->process, image->start, &version);
	}
	annotating->root = version.root;
}

/* ---- lines --------------------------------------------------------------------------------------- */

static bool same_line(const struct analysis_annotated_instruction *a, const struct analysis_annotated_instruction *b)
{
	return a->file == b->file && a->line == b->line;
}

static struct analysis_annotated_instruction *find_instruction(struct analysis_annotation *result, uint64_t address)
{
	const size_t low = COMMON_PARTITION(result->count, at, result->instructions[at].address < address);

	return low < result->count && result->instructions[low].address == address ? &result->instructions[low] : NULL;
}

static void come_from(const struct analysis_annotated_instruction *from, struct analysis_annotated_instruction *to,
		      uint64_t count)
{
	if (to && same_line(from, to))
		to->same_line += count;
}

/* Returns how often the flow continued at the next instruction. Calls count: they return there. */
static uint64_t falls(const struct analysis_annotated_instruction *instruction)
{
	switch (instruction->branch) {
	case FLOW_BRANCH_CONDITIONAL:
		return instruction->not_taken;
	case FLOW_BRANCH_NONE:
	case FLOW_BRANCH_CALL:
	case FLOW_BRANCH_CALL_INDIRECT:
	case FLOW_BRANCH_FAR_CALL:
		return instruction->count;
	default:
		return 0;
	}
}

static void follow_branch(const struct annotating *annotating, struct analysis_annotated_instruction *from)
{
	struct analysis_annotation *result = annotating->result;
	const struct analysis_profile_block *blocks = annotating->annotator->profile.blocks;

	come_from(from, find_instruction(result, from->address + from->length), falls(from));
	if (from->branch == FLOW_BRANCH_CONDITIONAL)
		come_from(from, find_instruction(result, from->target), from->taken);
	else if (from->branch == FLOW_BRANCH_JUMP)
		come_from(from, find_instruction(result, from->target), from->count);
	for (size_t i = 0; i < from->target_count && from->branch == FLOW_BRANCH_JUMP_INDIRECT; i++) {
		const struct analysis_branch_target *target = &result->targets[from->first_target + i];

		if (blocks[target->block].content == result->function.content)
			come_from(from, find_instruction(result, blocks[target->block].address), target->count);
	}
}

static int by_line(const void *a_, const void *b_)
{
	const struct analysis_annotated_line *a = a_, *b = b_;
	const int order = strcmp(a->file, b->file);

	return order ? order : compare_numbers(a->line, b->line);
}

static int collect_lines(struct analysis_annotation *result)
{
	size_t kept = 0;

	for (size_t i = 0; i < result->count; i++) {
		const struct analysis_annotated_instruction *one = &result->instructions[i];

		if (!one->file)
			continue;
		if (!common_vector_room(&result->lines, result->line_count, sizeof(*result->lines)))
			return common_fail_memory("lines", result->line_count * sizeof(*result->lines));
		result->lines[result->line_count++] = (struct analysis_annotated_line){
			.file = one->file,
			.line = one->line,
			.count = one->count > one->same_line ? one->count - one->same_line : 0,
			.instructions = one->count,
		};
	}
	if (result->line_count)
		qsort(result->lines, result->line_count, sizeof(*result->lines), by_line);
	for (size_t i = 0; i < result->line_count; i++) {
		if (kept && by_line(&result->lines[kept - 1], &result->lines[i]) == 0) {
			result->lines[kept - 1].count += result->lines[i].count;
			result->lines[kept - 1].instructions += result->lines[i].instructions;
		} else {
			result->lines[kept++] = result->lines[i];
		}
	}
	result->line_count = kept;
	return 0;
}

static int count_lines(struct annotating *annotating)
{
	const struct analysis_annotator *annotator = annotating->annotator;
	struct analysis_annotation *result = annotating->result;
	const uint32_t image = annotating->function->image;

	for (size_t i = 0; i < result->count; i++) {
		struct analysis_annotated_instruction *one = &result->instructions[i];

		if (!flow_sources_find(annotator->sources, image,
				       analysis_address_in_process(annotator->timeline, image, one->address),
				       &one->file, &one->line))
			one->file = NULL;
	}
	for (size_t i = 0; i < result->count; i++)
		follow_branch(annotating, &result->instructions[i]);
	return collect_lines(result);
}

int analysis_annotate(const struct analysis_annotator *annotator, const struct analysis_code_range *function,
		      struct analysis_annotation *annotation)
{
	struct annotating annotating = {.annotator = annotator, .function = function, .result = annotation};
	int status;

	*annotation = (struct analysis_annotation){.function = *function};
	find_root(&annotating);
	status = take_blocks(&annotating);
	if (!status)
		status = put_together(&annotating);
	if (!status)
		status = count_lines(&annotating);
	free(annotating.ran);
	return status;
}

void analysis_annotation_free(struct analysis_annotation *annotation)
{
	free(annotation->instructions);
	free(annotation->targets);
	free(annotation->lines);
	*annotation = (struct analysis_annotation){0};
}
