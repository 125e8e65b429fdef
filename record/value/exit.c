/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/value/exit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/bytes.h"
#include "flow/code/instruction.h"

#define CODE_MAX ((size_t)4 << 20)
#define JUMP_GROUP 4u /* in the ModRM byte of FF: an indirect jump */

bool value_exits_inside(const struct channel_value_plan *plan, uint64_t offset)
{
	for (uint32_t i = 0; i < plan->range_count && i < CHANNEL_VALUE_RANGES_MAX; i++)
		if (offset >= plan->ranges[i][0] && offset < plan->ranges[i][1])
			return true;
	return false;
}

bool value_exit_is_taken(uint64_t flags, uint8_t condition)
{
	const bool carry = flags & 1, parity = flags >> 2 & 1, zero = flags >> 6 & 1, sign = flags >> 7 & 1,
		   overflow = flags >> 11 & 1;
	const bool holds[] = {
		overflow, carry, zero, carry || zero, sign, parity, sign != overflow, zero || sign != overflow};

	return holds[condition >> 1 & 7] != (condition & 1);
}

/* ---- indirect jumps -------------------------------------------------------------------------- */

/* Sets the steps to an operand without an index. False: the operand has an index, or a segment. */
static bool read_operand(const uint8_t *code, size_t size, struct value_exit *found, bool *relative)
{
	size_t at = 0;
	unsigned rex = 0, mode, base;
	int64_t offset = 0;

	while (at < size && (code[at] == 0x3e || code[at] == 0xf2))
		at++;
	if (at < size && (code[at] & 0xf0) == 0x40)
		rex = code[at++];
	if (at + 2 > size || code[at] != 0xff || (code[at + 1] >> 3 & 7) != JUMP_GROUP)
		return false;
	mode = code[++at] >> 6;
	base = code[at++] & 7;
	*relative = mode == 0 && base == 5;
	if (*relative)
		return true;
	if (mode != 3 && base == 4) {
		if (at >= size || (code[at] >> 3 & 7) != 4 || rex & 2 || (mode == 0 && (code[at] & 7) == 5))
			return false;
		base = code[at++] & 7;
	}
	if (mode == 1 && at < size)
		offset = (int8_t)code[at];
	else if (mode == 2 && at + 4 <= size)
		offset = (int32_t)common_load32(code + at);
	found->steps[0] = (struct channel_value_step){
		.op = CHANNEL_VALUE_REGISTER, .index = (uint8_t)(base | (rex & 1) << 3), .operand = offset};
	found->steps[1] = (struct channel_value_step){.op = CHANNEL_VALUE_LOAD, .size = 8};
	found->step_count = mode == 3 ? 1 : 2;
	return true;
}

/* ---- code ------------------------------------------------------------------------------------ */

static void add_exit(struct value_exits *exits, const struct value_exit *found)
{
	if (exits->count == VALUE_EXITS_MAX)
		exits->has_more = true;
	else
		exits->list[exits->count++] = *found;
}

static void add_indirect(struct value_exits *exits, const uint8_t *code, size_t size, uint64_t offset)
{
	struct value_exit found = {.offset = offset, .kind = VALUE_EXIT_INDIRECT};
	bool relative;

	if (!read_operand(code, size, &found, &relative)) {
		exits->has_table = true;
		return;
	}
	/* A single pointer next to the code is another function's, in the table of the dynamic linker. */
	if (relative)
		found.kind = VALUE_EXIT_JUMP;
	add_exit(exits, &found);
}

static void take_branch(const struct channel_value_plan *plan, uint64_t place, const uint8_t *code, uint64_t offset,
			const struct flow_instruction *instruction, struct value_exits *exits)
{
	const bool away = instruction->direct && !value_exits_inside(plan, instruction->target);
	struct value_exit found = {.offset = offset};
	uint8_t opcode;

	switch ((enum flow_branch)instruction->branch) {
	case FLOW_BRANCH_RETURN:
		add_exit(exits, &found);
		break;
	case FLOW_BRANCH_JUMP:
		found.kind = VALUE_EXIT_JUMP;
		if (away)
			add_exit(exits, &found);
		exits->has_loop |= instruction->target == place;
		break;
	case FLOW_BRANCH_CONDITIONAL:
		found.kind = VALUE_EXIT_CONDITION;
		/* 0F 80 to 0F 8F, or 70 to 7F, behind prefixes of hints. */
		opcode = code[instruction->length - (instruction->length >= 6 ? 5 : 2)];
		found.condition = opcode & 15;
		if (away && (opcode & 0xf0) != 0x70 && (opcode & 0xf0) != 0x80)
			exits->has_more = true;
		else if (away)
			add_exit(exits, &found);
		exits->has_loop |= instruction->target == place;
		break;
	case FLOW_BRANCH_JUMP_INDIRECT:
		add_indirect(exits, code, instruction->length, offset);
		break;
	default:
		break;
	}
}

static void read_range(const struct channel_value_plan *plan, uint64_t place, const uint64_t range[2],
		       const uint8_t *code, struct value_exits *exits)
{
	const size_t size = (size_t)(range[1] - range[0]);
	struct flow_instruction instruction;

	for (size_t at = 0; at < size; at += instruction.length) {
		if (flow_instruction_decode(code + at, size - at, 64, range[0] + at, &instruction) != 0 ||
		    !instruction.length) {
			exits->has_more = true;
			break;
		}
		take_branch(plan, place, code + at, range[0] + at, &instruction, exits);
	}
}

bool value_exits_find(int fd, const struct channel_value_plan *plan, uint64_t place, struct value_exits *exits)
{
	bool readable = true;

	memset(exits, 0, sizeof(*exits));
	for (uint32_t i = 0; readable && i < plan->range_count && i < CHANNEL_VALUE_RANGES_MAX; i++) {
		const uint64_t *range = plan->ranges[i];
		const size_t size = range[1] > range[0] ? (size_t)(range[1] - range[0]) : 0;
		uint8_t *code = size <= CODE_MAX ? malloc(size + 1) : NULL;

		readable = code && pread(fd, code, size, (off_t)range[0]) == (ssize_t)size;
		if (readable)
			read_range(plan, place, range, code, exits);
		free(code);
	}
	return readable;
}
