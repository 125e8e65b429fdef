/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which functions of the source an ELF file's code is of, inlined ones too. Units of DWARF are read when an address in their code is
 * first looked up.
 */
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

/*
 * Does not take dwarf, which must outlive the table if that keeps it; what needs split is read at once, and with it all units. NULL where
 * it has no units with code, or without memory.
 */
struct flow_scope_table *flow_scopes_make(Dwarf *dwarf, struct flow_split_source *split);
bool flow_scopes_keep_dwarf(const struct flow_scope_table *table);
void flow_scopes_free(struct flow_scope_table *table);

/* The innermost scope of an address in the file's own address space; NULL where none is known. May be called from several threads. */
const struct flow_scope *flow_scopes_find(struct flow_scope_table *table, uint64_t address);

#endif
