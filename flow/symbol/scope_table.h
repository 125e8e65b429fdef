/* SPDX-License-Identifier: BSD-2-Clause */
/* Which functions of the source an ELF file's code is of, inlined ones too: built once, then only read. */
#ifndef FLOW_SYMBOL_SCOPE_TABLE_H
#define FLOW_SYMBOL_SCOPE_TABLE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "flow/symbol/source_line.h"

struct flow_scope_table;

/*
 * Neither takes nor keeps dwarf. With `split` the files that it refers to may be opened (.dwo); *missing, if it is NULL, becomes the name
 * of one that was not (the caller frees it). NULL where it describes no functions, or without memory.
 */
struct flow_scope_table *flow_scopes_make(Dwarf *dwarf, bool split, char **missing);
void flow_scopes_free(struct flow_scope_table *table);

/* The innermost scope of an address in the file's own address space; NULL where none is known. */
const struct flow_scope *flow_scopes_find(const struct flow_scope_table *table, uint64_t address);

#endif
