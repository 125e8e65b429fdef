/* SPDX-License-Identifier: BSD-2-Clause */
/* A block during translation, and the functions that write the parts of a block. */
#ifndef RECORD_SOFTWARE_RUNTIME_TRANSLATE_STATE_H
#define RECORD_SOFTWARE_RUNTIME_TRANSLATE_STATE_H

#include "record/software/runtime/emit.h"
#include "record/software/runtime/instruction.h"
#include "record/software/runtime/translate.h"

#define NO_REGISTER 0xff
#define SIDE_EXITS_MAX (TRANSLATE_BITS_MAX + 2)

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

/* Taken edge of a conditional branch; the code of the edge is in the cold part. */
struct side_exit {
	uint8_t *site; /* displacement of the jump to the edge */
	uint64_t target;
	unsigned zeros;
	unsigned instructions;
};

/* Where a block compares the pending TNT bits with the thread's limit. */
struct check_place {
	enum { CHECK_NOWHERE, CHECK_BEFORE } kind;
	unsigned step;   /* index of the instruction behind the check */
	bool live_flags; /* the check has to keep the flags */
};

struct translation {
	struct translate_block *block;
	struct emitter e;
	unsigned bits;
	struct side_exit sides[SIDE_EXITS_MAX];
	unsigned side_count;
	struct {
		uint8_t *site; /* displacement of a jump; NULL: a return */
		struct translate_return_site *return_site;
		uint32_t exit;
	} stubs[2 * SIDE_EXITS_MAX];
	unsigned stub_count;
	struct instruction decoded[TRANSLATE_INSTRUCTIONS_MAX];
	unsigned decoded_count;
	struct check_place check;
	uint8_t *check_site; /* displacement of the check's jump to the runtime; NULL: no check written */
	uint8_t *check_at;   /* first byte of the check */
	uint64_t check_pc;   /* address of the instruction behind the check */
	/* displacement of the push of a call to the return address, which stands in the cold part; NULL: no call */
	uint8_t *return_address;
	uint64_t return_to;
};

/* ---- translate.c: exits. instructions: how many of the block have been executed by then ---- */

/* Adds `instructions` to the virtual clock; uses the scratch word at offset `scratch`. */
void runtime_translate_count(struct translation *t, unsigned instructions, uint32_t scratch);
/* As runtime_translate_count, but with RCX free. */
void runtime_translate_count_spilled(struct translation *t, unsigned instructions);
/* Adds the place behind a call to the return sites. Returns the offset of the return site. */
uint32_t runtime_translate_return_site(struct translation *t, uint64_t target);
/* Writes `zeros` TNT bits 0 and, unless last is negative, the bit `last`, and then the jump. */
void runtime_translate_exit(struct translation *t, uint64_t target, unsigned zeros, int last, unsigned instructions);
/* As runtime_translate_exit, for a branch. A branch to the entry of its own function is no call: the runtime is told. */
void runtime_translate_branch(struct translation *t, uint64_t target, unsigned zeros, int last, unsigned instructions);
/* Writes the check of the thread's limit before the instruction at pc. */
void runtime_translate_check(struct translation *t, uint64_t pc);
/* Stores the program's address for the runtime. */
void runtime_translate_pc(struct translation *t, uint64_t pc);
/* Leaves the instruction at pc to the runtime, by one of the entries RUNTIME_TO_. */
void runtime_translate_to_runtime(struct translation *t, uint32_t entry, uint64_t pc, unsigned instructions);

/* ---- translate_check.c ---- */

/* Chooses the place of the block's check. */
struct check_place runtime_translate_place_check(const struct translation *t);

/* ---- translate_plain.c ---- */

/* Copies an instruction without control transfer. */
void runtime_translate_plain(struct translation *t, const uint8_t *source, const struct instruction *decoded,
			     uint64_t pc, struct translate_step *step);

/* ---- translate_transfer.c: source has the instruction's bytes, and pc or next its address or the one behind ---- */

void runtime_translate_return(struct translation *t, const uint8_t *source, const struct instruction *in,
			      struct translate_step *step, unsigned instructions);
void runtime_translate_condition(struct translation *t, const struct instruction *in, uint64_t next,
				 unsigned instructions);
void runtime_translate_loop(struct translation *t, const struct instruction *in, uint64_t next, unsigned instructions);
void runtime_translate_call(struct translation *t, const uint8_t *source, const struct instruction *in, uint64_t pc,
			    struct translate_step *step, unsigned instructions);
void runtime_translate_jump_indirect(struct translation *t, const uint8_t *source, const struct instruction *in,
				     uint64_t pc, struct translate_step *step, unsigned instructions);

#endif
