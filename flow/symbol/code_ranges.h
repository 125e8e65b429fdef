/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the code addresses of an ELF file. Debug information may also describe code that a linker has left out. */
#ifndef FLOW_SYMBOL_CODE_RANGES_H
#define FLOW_SYMBOL_CODE_RANGES_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Code addresses: [first, end). */
struct flow_code_range {
	uint64_t first, end;
};

struct flow_code_ranges {
	struct flow_code_range *list; /* owned; sorted ranges, not adjacent */
	size_t count, capacity;
};

/*
 * Reads the ranges of executable sections or, without executable sections, of executable segments: a segment may begin
 * with the file's headers, at address 0. An object file has no ranges, because its sections have no addresses yet.
 * Returns false without memory. The caller frees the ranges in any case.
 */
bool flow_code_ranges_read(Elf *elf, struct flow_code_ranges *ranges);
/* Checks whether an address is code. Without known ranges, returns true for any address. */
bool flow_code_ranges_have(const struct flow_code_ranges *ranges, uint64_t address);
void flow_code_ranges_free(struct flow_code_ranges *ranges);

#endif
