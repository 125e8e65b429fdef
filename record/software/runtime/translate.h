/* SPDX-License-Identifier: BSD-2-Clause */
/* Translates one block of the program into the cache. */
#ifndef RECORD_SOFTWARE_RUNTIME_TRANSLATE_H
#define RECORD_SOFTWARE_RUNTIME_TRANSLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct instruction;

/* maximal number of TNT bits of a block: together with up to 46 pending bits they fit into a word */
#define TRANSLATE_BITS_MAX 14u
#define TRANSLATE_INSTRUCTIONS_MAX 48u
/* maximal size of a block's translation in bytes, exits included */
#define TRANSLATE_CODE_MAX 16384u
#define TRANSLATE_COLD_MAX 4096u
#define TRANSLATE_NO_PLAN UINT32_MAX
/* maximal size of a linkage stub in bytes: endbr64 and a jump */
#define TRANSLATE_STUB_MAX 16u

/* One instruction of a block: place of the translation, and data to restore registers after a fault. */
struct translate_step {
	uint16_t code;      /* offset of the first translated byte */
	uint16_t spilled;   /* offset from which `scratch` holds another value */
	uint16_t back;      /* offset from which `scratch` holds its own value again */
	uint8_t offset_low; /* from the block's first byte or, of a stub's jump, from the stub's */
	uint8_t offset_high;
	uint8_t scratch; /* register whose value is in scratch word `word`; 0xff: no register */
	uint8_t word;
	uint8_t bits; /* number of TNT bits (all 0) of the block before this instruction */
	uint8_t length;
};

struct translate_options {
	bool return_compression;
	bool counted;      /* count instructions: the virtual clock */
	bool check_bytes;  /* compare the code's bytes at the head: other processes or mappings may write the memory */
	bool single_store; /* end the block behind each instruction that writes memory */
	bool joins_stubs;  /* a call of a linkage stub (jmp [rip + n]) executes the stub's jump in the caller's block */
};

/* A way out of a block. Until the exit is linked, its displacements lead to code that enters the runtime. */
struct translate_exit {
	uint64_t pc;     /* address of the program that the exit leads to */
	uint8_t *site;   /* displacement of the last jump on the way to pc; NULL: a return */
	uint8_t *branch; /* displacement of the conditional branch whose taken edge the exit is; NULL: another exit */
	uint8_t zeros;   /* TNT bits 0 that the edge appends, before a bit 1 */
	struct translate_return_site *return_site; /* of a return */
};

/* A place behind a call: what an entry of the return stack stands for. */
struct translate_return_site {
	/*
	 * Bitwise complement of the return address. The highest byte of the first site, which stands for an empty entry,
	 * is 0: no return to user space matches the site.
	 */
	uint64_t inverted;
	uint64_t code; /* entry of the block there, or code that enters the runtime */
};

/* The complement of an address of the kernel. */
#define TRANSLATE_RETURN_EMPTY 0x0000ffffffffffffull

/* A place of --values. */
struct translate_place {
	uint64_t offset; /* in the file */
	bool enters;     /* the entry of a function whose values are read further on */
};

struct translate_block {
	/* In. */
	uint64_t pc;
	const uint8_t *bytes; /* program's code, `size` readable bytes */
	size_t size;
	uint8_t *code; /* room for TRANSLATE_CODE_MAX bytes; the address of the block's first translated byte */
	uint8_t *cold; /* room for TRANSLATE_COLD_MAX bytes of rarely executed code */
	struct translate_options options;
	/* Returns the number of a new exit. */
	uint32_t (*add_exit)(const struct translate_exit *exit);
	/* Returns a new return site; NULL: no memory. An instruction contains the site's offset from `return_sites`. */
	struct translate_return_site *(*add_return_site)(void);
	const uint8_t *return_sites;
	/*
	 * Finds a plan from `from` on with a place at the instruction at pc: see runtime_values_place. NULL: there are no
	 * such places.
	 */
	uint32_t (*find_place)(uint64_t pc, const struct instruction *in, uint32_t from, struct translate_place *place);
	/* Copies code of the program at pc; returns the number of bytes. */
	size_t (*read_code)(uint64_t pc, uint8_t *bytes, size_t size);
	/* Finds a plan at the entry `target` of the function that has code at pc. */
	uint32_t (*find_loop)(uint64_t pc, uint64_t target);
	/* Out. */
	uint32_t length;    /* bytes of the program */
	uint32_t code_size; /* bytes of the hot translation */
	uint32_t cold_size; /* bytes of the cold part */
	uint8_t *check;     /* address in the cold part: a jump from the block's first byte to it enters the runtime */
	uint32_t step_count;
	bool cut; /* the first instruction is not completely readable */
	/* Linkage stub whose jump ends the block; the last step belongs to the jump. */
	uint64_t stub_pc;
	uint32_t stub_length; /* bytes; 0: no stub */
	uint8_t stub_bytes[TRANSLATE_STUB_MAX];
	struct translate_step steps[TRANSLATE_INSTRUCTIONS_MAX];
};

void runtime_translate_block(struct translate_block *block);

#define TRANSLATE_ENTRY_SIZE 9u
/* Writes a block's entry for indirect branches and returns, TRANSLATE_ENTRY_SIZE bytes: restores R10. */
void runtime_translate_entry(uint8_t *at);

/* maximal size in bytes of the code of a taken edge */
#define TRANSLATE_EDGE_MAX 40u
/* Writes the code of a taken edge, which appends `zeros` bits 0 and a bit 1. Returns the size in bytes. */
unsigned runtime_translate_edge(uint8_t *at, unsigned zeros);

#endif
