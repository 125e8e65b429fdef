/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions of an ELF file's code, including inlined functions. A DWARF unit is read when an address of its code is
 * first requested.
 */
#ifndef FLOW_SYMBOL_SCOPE_TABLE_H
#define FLOW_SYMBOL_SCOPE_TABLE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "elf/split_search.h"
#include "flow/symbol/source_line.h"

struct flow_scope_table;

/* Source of the .dwo files of split DWARF. */
struct flow_split_source {
	void *context;
	/* Reads a .dwo file into new memory, which the caller frees. Returns false if the file is missing. */
	bool (*read)(void *context, const struct elf_split_unit *split, uint8_t **data, size_t *size);
	char *missing; /* NULL at first; afterwards the name of a missing file, which the caller frees */
};

/*
 * flow_scopes_make: does not take ownership of dwarf. Units that need split are read at once, together with all other
 * units. Returns NULL if dwarf has no units with code, or without memory.
 * flow_scopes_keep_dwarf: checks whether the table still uses dwarf. Then dwarf must outlive the table.
 */
struct flow_scope_table *flow_scopes_make(Dwarf *dwarf, struct flow_split_source *split);
bool flow_scopes_keep_dwarf(const struct flow_scope_table *table);
void flow_scopes_free(struct flow_scope_table *table);

/*
 * Finds the innermost scope of an address in the file's own address space; NULL: unknown. May be called from several
 * threads.
 */
const struct flow_scope *flow_scopes_find(struct flow_scope_table *table, uint64_t address);

#endif
