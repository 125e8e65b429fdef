/* SPDX-License-Identifier: BSD-2-Clause */
/* Translates one block of the program into the cache. */
#ifndef RECORD_SOFTWARE_RUNTIME_TRANSLATE_H
#define RECORD_SOFTWARE_RUNTIME_TRANSLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* TNT bits that a block makes at most: what is pending before it (up to 46) and these fit into a word. */
#define TRANSLATE_BITS_MAX 14u
#define TRANSLATE_INSTRUCTIONS_MAX 48u
/* Bytes of translated code of a block at most, exits included. */
#define TRANSLATE_CODE_MAX 16384u
#define TRANSLATE_COLD_MAX 2048u

/* One instruction of a block: where its translation begins, and what is to be mended if it faults. */
struct translate_step {
	uint16_t code;      /* offset of its first translated byte */
	uint16_t spilled;   /* offset behind which `scratch` holds another value */
	uint16_t back;      /* offset from which on it holds its own again */
	uint8_t offset_low; /* from the block's first byte */
	uint8_t offset_high;
	uint8_t scratch; /* register whose value is in scratch word `word`; 0xff: none */
	uint8_t word;
	uint8_t bits; /* TNT bits, all 0, that the block has made before it */
	uint8_t length;
};

struct translate_options {
	bool return_compression;
	bool counted;      /* count instructions: the virtual clock */
	bool check_bytes;  /* compare the code's bytes at the head: the memory may be written by anybody */
	bool single_store; /* end the block behind each instruction that writes memory */
};

struct translate_block {
	/* In. */
	uint64_t pc;
	const uint8_t *bytes; /* of the program, `size` of them can be read */
	size_t size;
	uint8_t *code; /* room for TRANSLATE_CODE_MAX bytes; the address of the block's first translated byte */
	uint8_t *cold; /* room for TRANSLATE_COLD_MAX bytes: what is executed once, or seldom */
	struct translate_options options;
	/* Asked for each exit: the number of an exit to pc whose jump's displacement is at site. */
	uint32_t (*add_exit)(void *context, uint64_t pc, uint8_t *site);
	void *context;
	/* Out. */
	uint32_t length;    /* bytes of the program */
	uint32_t code_size; /* bytes of the translation, */
	uint32_t cold_size; /* and of its cold part */
	uint8_t *check;     /* in the cold part: a jump to it at the block's first byte enters the runtime */
	uint32_t step_count;
	bool cut; /* not even the first instruction can be read */
	struct translate_step steps[TRANSLATE_INSTRUCTIONS_MAX];
};

void runtime_translate_block(struct translate_block *block);

#endif
