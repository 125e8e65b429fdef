/* SPDX-License-Identifier: BSD-2-Clause */
/* Which functions of the source an ELF file's code is of, inlined ones too: built once, then only read. */
#ifndef FLOW_SYMBOL_SCOPE_TABLE_H
#define FLOW_SYMBOL_SCOPE_TABLE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "elf/split_search.h"
#include "flow/symbol/source_line.h"

struct flow_scope_table;

/* Where the .dwo files of split DWARF come from. */
struct flow_split_source {
	void *context;
	/* One, in fresh memory (caller frees); false where it is not there. */
	bool (*read)(void *context, const struct elf_split_unit *split, uint8_t **data, size_t *size);
	char *missing; /* NULL at first; becomes the name of a file that is not there (caller frees) */
};

/* Neither takes nor keeps dwarf. NULL where it describes no functions, or without memory. */
struct flow_scope_table *flow_scopes_make(Dwarf *dwarf, struct flow_split_source *split);
void flow_scopes_free(struct flow_scope_table *table);

/* The innermost scope of an address in the file's own address space; NULL where none is known. */
const struct flow_scope *flow_scopes_find(const struct flow_scope_table *table, uint64_t address);

#endif
