/* SPDX-License-Identifier: BSD-2-Clause */
/* Encodes the branches between the blocks. */
#include "dump/gdb/packets.h"

#include <stdlib.h>

#include "flow/code/instruction.h"
#include "format/pt/encode.h"

#define KNOWN (1u << 13) /* instructions in the cache */
#define MODE 64u

struct known {
	uint64_t ip;
	struct flow_instruction instruction; /* length 0: none */
};

struct encoder {
	const struct dump_gdb_model *model;
	struct known *known; /* by address */
	struct ptl_bytes *packets;
	uint64_t tnt; /* branches below a stop bit, as format_pt_put_tnt takes them */
	uint64_t last_ip;
	/* Since the last packet, execution took a direct jump backwards: an address may have been passed several times. */
	bool repeats;
};

/* ---- packets ------------------------------------------------------------------------------------- */

static void put_tnt(struct encoder *encoder)
{
	uint8_t bytes[PTL_PT_PACKET_MAX];

	if (encoder->tnt > 1)
		common_write_bytes(encoder->packets, bytes, format_pt_put_tnt(bytes, encoder->tnt));
	encoder->tnt = 1;
}

static void add_branch(struct encoder *encoder, bool taken)
{
	encoder->tnt = encoder->tnt << 1 | taken;
	encoder->repeats = false;
	if (encoder->tnt >> FORMAT_PT_TNT_64_MAX)
		put_tnt(encoder);
}

static void put_ip(struct encoder *encoder, unsigned match, uint64_t ip)
{
	uint8_t bytes[PTL_PT_PACKET_MAX];

	put_tnt(encoder);
	common_write_bytes(encoder->packets, bytes, format_pt_put_ip(bytes, match, &encoder->last_ip, ip));
	encoder->repeats = false;
}

static void put_disable(struct encoder *encoder)
{
	uint8_t bytes[PTL_PT_PACKET_MAX];

	put_tnt(encoder);
	common_write_bytes(encoder->packets, bytes, format_pt_put_tip_pgd_no_ip(bytes));
}

static void put_begin(struct encoder *encoder)
{
	uint8_t bytes[PTL_PT_PACKET_MAX];

	common_write_bytes(encoder->packets, bytes, format_pt_put_psb(bytes));
	common_write_bytes(encoder->packets, bytes, format_pt_put_mode_exec(bytes, true, false, true));
	common_write_bytes(encoder->packets, bytes, format_pt_put_psbend(bytes));
}

/* ---- instructions -------------------------------------------------------------------------------- */

/* NULL: memory has no instruction at ip, or ends within the bytes that libipt wants of gdb: gdb answers with all of them or none. */
static const struct flow_instruction *instruction_at(struct encoder *encoder, uint64_t ip)
{
	struct known *known = &encoder->known[(ip ^ ip >> 13) % KNOWN];
	uint8_t bytes[FLOW_INSTRUCTION_MAX];
	size_t size;

	if (known->ip == ip && known->instruction.length)
		return &known->instruction;
	size = encoder->model->read_memory(encoder->model->context, ip, bytes, sizeof(bytes));
	*known = (struct known){.ip = ip};
	if (size < sizeof(bytes) || flow_instruction_decode(bytes, size, MODE, ip, &known->instruction) < 0)
		return NULL;
	return &known->instruction;
}

/*
 * Makes execution reach `at`, where an interrupt is. Returns false if execution passed `at` before, since the last packet: a decoder
 * would take the first time.
 */
static bool put_interrupt(struct encoder *encoder, uint64_t at)
{
	if (encoder->repeats)
		return false;
	put_ip(encoder, FORMAT_PT_MATCH_FUP, at);
	return true;
}

/*
 * Returns whether the branch needs a TIP. Else *to is where the instruction goes by itself or by a bit of a TNT packet: to
 * `wanted` if it can.
 */
static bool needs_tip(struct encoder *encoder, uint64_t ip, const struct flow_instruction *instruction, uint64_t wanted,
		      uint64_t *to)
{
	*to = ip + instruction->length;
	switch (instruction->branch) {
	case FLOW_BRANCH_NONE:
		return false;
	case FLOW_BRANCH_CONDITIONAL:
		add_branch(encoder, wanted == instruction->target && wanted != *to);
		*to = wanted == instruction->target ? wanted : *to;
		return false;
	case FLOW_BRANCH_JUMP:
	case FLOW_BRANCH_CALL:
		*to = instruction->target;
		encoder->repeats |= *to <= ip;
		return false;
	default:
		return true;
	}
}

/* Goes from the instruction at ip to the instruction at `wanted`. */
static bool go(struct encoder *encoder, uint64_t ip, uint64_t wanted)
{
	const struct flow_instruction *instruction = instruction_at(encoder, ip);
	uint64_t to;

	if (!instruction)
		return false;
	if (!needs_tip(encoder, ip, instruction, wanted, &to)) {
		if (to == wanted)
			return true;
		if (!put_interrupt(encoder, to))
			return false;
	}
	put_ip(encoder, FORMAT_PT_MATCH_TIP, wanted);
	return true;
}

/* Ends the flow behind the instruction at ip. */
static bool stop(struct encoder *encoder, uint64_t ip)
{
	const struct flow_instruction *instruction = instruction_at(encoder, ip);
	uint64_t to;

	if (!instruction || (!needs_tip(encoder, ip, instruction, 0, &to) && !put_interrupt(encoder, to)))
		return false;
	put_disable(encoder);
	return true;
}

/* Passes the block's instructions up to the last one. Returns false if memory has other instructions. */
static bool pass(struct encoder *encoder, const struct dump_gdb_block *block)
{
	uint64_t ip = block->begin;
	uint32_t passed = 1;

	while (ip != block->end && passed < block->instructions) {
		const struct flow_instruction *instruction = instruction_at(encoder, ip);

		if (!instruction || !go(encoder, ip, ip + instruction->length))
			return false;
		ip += instruction->length;
		passed++;
	}
	return ip == block->end && passed == block->instructions;
}

/* ---- threads ------------------------------------------------------------------------------------- */

static bool encode(struct encoder *encoder, const struct dump_gdb_thread *thread)
{
	uint64_t last = 0;

	put_begin(encoder);
	for (size_t i = 0; i < thread->count; i++) {
		const struct dump_gdb_block *block = &thread->blocks[i];

		if (!block->instructions)
			return false;
		if (i == 0)
			put_ip(encoder, FORMAT_PT_MATCH_TIP_PGE, block->begin);
		else if (!go(encoder, last, block->begin))
			return false;
		if (!pass(encoder, block))
			return false;
		last = block->end;
	}
	if (thread->next && !go(encoder, last, thread->next))
		return false;
	return thread->count && stop(encoder, thread->next ? thread->next : last);
}

bool dump_gdb_packets_make(const struct dump_gdb_model *model, const struct dump_gdb_thread *thread,
			   struct ptl_bytes *packets)
{
	struct encoder encoder = {.model = model, .packets = packets, .tnt = 1};
	bool good;

	encoder.known = calloc(KNOWN, sizeof(*encoder.known));
	good = encoder.known && encode(&encoder, thread);
	free(encoder.known);
	return good && !packets->failed;
}
