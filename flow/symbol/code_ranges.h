/* SPDX-License-Identifier: BSD-2-Clause */
/* Which addresses of an ELF file are code: debug information may describe what a linker has left out, too. */
#ifndef FLOW_SYMBOL_CODE_RANGES_H
#define FLOW_SYMBOL_CODE_RANGES_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* [first, end) */
struct flow_code_range {
	uint64_t first, end;
};

struct flow_code_ranges {
	struct flow_code_range *list; /* owned: in order, apart from each other */
	size_t count, capacity;
};

/*
 * Those of executable sections or, where there are none, of executable segments: a segment may begin with the headers of the file, at
 * address 0. There are none of an object file, whose sections have no addresses yet. False without memory; free in any case.
 */
bool flow_code_ranges_read(Elf *elf, struct flow_code_ranges *ranges);
/* Whether an address is code; true of any address where no range is known. */
bool flow_code_ranges_have(const struct flow_code_ranges *ranges, uint64_t address);
void flow_code_ranges_free(struct flow_code_ranges *ranges);

#endif
