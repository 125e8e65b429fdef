/* SPDX-License-Identifier: BSD-2-Clause */
/* Translated blocks: what the encoder has to know of each, made once at translation. */

#ifndef RECORD_QEMU_PLUGIN_BLOCK_H
#define RECORD_QEMU_PLUGIN_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/qemu/shared/channel.h"

/* No code addresses: comparing with one always fails, and so does comparing them with each other.
 */
#define PLUGIN_NOWHERE 0x8000000000000001ull
#define PLUGIN_NO_KEY 0x8000000000000002ull

enum plugin_block_flag {
	PLUGIN_BLOCK_HANDLER = 1,     /* its start is a signal handler */
	PLUGIN_BLOCK_VSYSCALL = 2,    /* in the vsyscall page: QEMU carries the call out instead of the code */
	PLUGIN_BLOCK_SINGLE = 4,      /* one instruction and no reason why: QEMU may be starting again there */
	PLUGIN_BLOCK_UNANNOUNCED = 8, /* translated by an untraced thread: the recorder does not know it yet */
};

/*
 * The first bytes are read each time the block is executed. A block is entered by the fast path if
 * `key` (its start, or PLUGIN_NO_KEY to force the slow path) equals one of the previous block's next
 * addresses; those are PLUGIN_NOWHERE where the transition takes more than a TNT bit.
 */
struct plugin_block {
	uint64_t key;
	uint64_t start;
	uint64_t not_taken; /* end of a linear or conditional block, target of a direct jump or call
			     */
	uint64_t taken;     /* target of a conditional branch */
	uint64_t end;       /* address after the last instruction */
	uint16_t count;     /* instructions */
	uint8_t shift;      /* TNT bits that leaving it makes: 1 for a conditional branch */
	uint8_t pushes;     /* 1 if it ends in a call and the return is to be compressed */
	uint8_t kind;       /* enum qemu_block_kind, of the last instruction */
	uint8_t flags;      /* enum plugin_block_flag */
	uint16_t reserved;

	uint64_t last;   /* address of the last instruction */
	uint64_t target; /* of a direct branch */
	uint32_t number; /* truth's name for it, from 1 on */
	uint32_t hash;
	struct plugin_block *next; /* in its hash chain */
	uint8_t lengths[];         /* of its instructions */
};

/* What a new block is made of. */
struct plugin_block_source {
	uint64_t start;
	uint64_t target;
	size_t count;
	const uint8_t *lengths;
	enum qemu_block_kind kind;
	bool compress_returns;
	bool is_vsyscall;
};

/* All blocks of a process. Not locked: the caller is. */
struct plugin_block_table {
	struct plugin_block **chains;
	size_t chain_count;
	size_t block_count;
	uint64_t *handlers; /* addresses of signal handlers */
	size_t handler_count;
};

/*
 * The block equal to `source`, made if there is none; it lives as long as the process. *is_new says
 * which. NULL if there is no memory.
 */
struct plugin_block *plugin_block_get(struct plugin_block_table *table, const struct plugin_block_source *source,
				      bool *is_new);

/* While a flag is set, the block is entered by the slow path. */
void plugin_block_set_flag(struct plugin_block *block, enum plugin_block_flag flag);
void plugin_block_clear_flag(struct plugin_block *block, enum plugin_block_flag flag);

/* Frees all blocks and forgets the handlers. */
void plugin_block_clear(struct plugin_block_table *table);

/*
 * Marks `address` as a signal handler: every block that starts there, now or later, is entered by
 * the slow path. Returns 0, or -ENOMEM.
 */
int plugin_block_add_handler(struct plugin_block_table *table, uint64_t address);

bool plugin_block_is_handler(const struct plugin_block_table *table, uint64_t address);

/*
 * The number of instructions before the one at `address`; -1 if no instruction of the block starts
 * there. The block's end gives its count.
 */
int plugin_block_index(const struct plugin_block *block, uint64_t address);

/* True if the architecture lets `address` follow once all of the block has been executed. */
bool plugin_block_leads_to(const struct plugin_block *block, uint64_t address);

/* The address of instruction `index` < count. */
uint64_t plugin_block_address(const struct plugin_block *block, size_t index);

/* True if the block's last instruction can be followed by itself: a branch other than a call. */
bool plugin_block_may_repeat_last(const struct plugin_block *block);

/*
 * True if `block`, entered after `from`, is not what follows it but a part of it that was not
 * carried out: when an instruction writes to the page it is on, QEMU leaves the block and starts
 * again there with a block of that one instruction. Nothing else makes a block of one instruction
 * where a longer one was translated before.
 */
bool plugin_block_is_restart(const struct plugin_block *from, const struct plugin_block *block);

#endif
