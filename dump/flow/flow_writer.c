/* SPDX-License-Identifier: BSD-2-Clause */
/* A direct-mapped cache of line tails by code and place. */
#include "dump/flow/flow_writer.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "common/hash.h"

#define SLOTS ((size_t)1 << 16)
#define TAILS_MAX ((size_t)32 << 20) /* bytes of cached tails; beyond, the cache is cleared */

/* Everything tails depend on, except constants of the run. */
struct key {
	uint64_t first;
	uint64_t second;
	uint32_t image;
	uint32_t other;
};

/* Tails of a block at `offset` in `tails`: for each line, a size of 4 bytes and the tail. lines 0: empty. */
struct slot {
	struct key key;
	size_t offset;
	uint32_t size; /* of all tails, without their sizes */
	uint32_t lines;
};

struct dump_flow_writer {
	const struct dump_flow_print *print;
	const struct dump_flow_format *format;
	struct slot *slots;
	struct ptl_bytes tails;
};

struct dump_flow_writer *dump_flow_writer_new(const struct dump_flow_print *print,
					      const struct dump_flow_format *format)
{
	struct dump_flow_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return NULL;
	writer->print = print;
	writer->format = format;
	writer->slots = calloc(SLOTS, sizeof(*writer->slots));
	if (!writer->slots) {
		free(writer);
		return NULL;
	}
	return writer;
}

void dump_flow_writer_free(struct dump_flow_writer *writer)
{
	if (!writer)
		return;
	common_bytes_free(&writer->tails);
	free(writer->slots);
	free(writer);
}

/* ---- the cache ----------------------------------------------------------------------------------- */

static struct slot *slot_of(const struct dump_flow_writer *writer, const struct key *key)
{
	const uint64_t mixed = common_hash_mix(key->first ^ key->second << 7 ^ (uint64_t)key->image << 40 ^ key->other);

	return &writer->slots[mixed >> 48 & (SLOTS - 1)];
}

static bool slot_holds(const struct slot *slot, const struct key *key)
{
	return slot->lines && slot->key.first == key->first && slot->key.second == key->second &&
	       slot->key.image == key->image && slot->key.other == key->other;
}

/* Empties the slot for new tails. Clears the whole cache if it is too large. */
static void start_slot(struct dump_flow_writer *writer, struct slot *slot, const struct key *key)
{
	if (writer->tails.size > TAILS_MAX || writer->tails.failed) {
		common_bytes_free(&writer->tails);
		memset(writer->slots, 0, SLOTS * sizeof(*writer->slots));
	}
	*slot = (struct slot){.key = *key, .offset = writer->tails.size};
}

/* Reserves the size of a tail. Returns its offset. */
static size_t start_tail(struct dump_flow_writer *writer)
{
	common_write_le(&writer->tails, 0, 4);
	return writer->tails.size - 4;
}

static void end_tail(struct dump_flow_writer *writer, struct slot *slot, size_t start)
{
	const size_t size = writer->tails.size - start - 4;

	if (writer->tails.failed)
		return;
	common_store32(writer->tails.data + start, (uint32_t)size);
	slot->size += (uint32_t)size;
	slot->lines++;
}

static void write_lines(const struct dump_flow_writer *writer, const struct slot *slot, const struct ptl_bytes *head,
			struct ptl_bytes *text)
{
	const size_t size = slot->size + slot->lines * head->size;
	const uint8_t *tail = writer->tails.data + slot->offset;
	uint8_t *p;

	if (writer->tails.failed) {
		text->failed = true;
		return;
	}
	p = common_bytes_grow(text, size);
	for (uint32_t i = 0; p && i < slot->lines; i++) {
		const uint32_t tail_size = common_load32(tail);

		memcpy(p, head->data, head->size);
		memcpy(p + head->size, tail + 4, tail_size);
		p += head->size + tail_size;
		tail += 4 + tail_size;
	}
}

/* ---- lines --------------------------------------------------------------------------------------- */

static struct key key_of_block(const struct flow_block *block)
{
	struct key key = {block->ip, block->last_ip, block->image, (uint32_t)block->branch << 8 | block->mode};

	/* Code from events may be replaced by other code at the same address. */
	if (block->code_event)
		key.second ^= XXH64(block->code, block->size, block->instructions);
	return key;
}

static void make_block(struct dump_flow_writer *writer, struct slot *slot, const struct flow_block *block)
{
	const struct dump_flow_print *print = writer->print;
	uint64_t ip = block->ip;

	if (print->level != DUMP_FLOW_INSN) {
		const size_t start = start_tail(writer);

		writer->format->block(print, block, &writer->tails);
		end_tail(writer, slot, start);
		return;
	}
	for (uint32_t i = 0; i < block->instructions; i++) {
		const size_t start = start_tail(writer);

		writer->format->instruction(print, block, i, ip, block->code + (ip - block->ip), &writer->tails);
		end_tail(writer, slot, start);
		ip += block->lengths[i];
	}
}

void dump_flow_write_block(struct dump_flow_writer *writer, const struct ptl_bytes *head,
			   const struct flow_block *block, struct ptl_bytes *text)
{
	const struct key key = key_of_block(block);
	struct slot *slot = slot_of(writer, &key);

	if (!slot_holds(slot, &key)) {
		start_slot(writer, slot, &key);
		make_block(writer, slot, block);
	}
	write_lines(writer, slot, head, text);
}

void dump_flow_write_branch(struct dump_flow_writer *writer, const struct ptl_bytes *head,
			    const struct dump_flow_branch *branch, struct ptl_bytes *text)
{
	/*
	 * Both places belong to one process. The image of `to` follows from its address while the image of `from`
	 * exists.
	 */
	const struct key key = {branch->from.ip, branch->to.ip, branch->from.image,
				(uint32_t)branch->kind | (branch->has_to ? 0x100 : 0) | branch->to.image << 9};
	struct slot *slot = slot_of(writer, &key);

	if (!slot_holds(slot, &key)) {
		size_t start;

		start_slot(writer, slot, &key);
		start = start_tail(writer);
		writer->format->branch(writer->print, branch, &writer->tails);
		end_tail(writer, slot, start);
	}
	write_lines(writer, slot, head, text);
}
