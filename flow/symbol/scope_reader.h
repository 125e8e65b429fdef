/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the functions of a DWARF unit, including inlined functions, and their addresses. */
#ifndef FLOW_SYMBOL_SCOPE_READER_H
#define FLOW_SYMBOL_SCOPE_READER_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/hash_map.h"
#include "flow/symbol/scope_table.h"
#include "flow/symbol/split_unit.h"
#include "flow/symbol/unit_map.h"

/* Addresses of a scope: [first, end). */
struct flow_scope_range {
	uint64_t first, end;
	const struct flow_scope *scope;
	unsigned depth; /* depth of the entry in the unit's tree */
};

/* The reader. Zero at first except dwarf and source. */
struct flow_scope_reader {
	Dwarf *dwarf;
	struct flow_split_source *source;    /* source of .dwo files */
	const struct flow_split_unit *split; /* .dwo file of the current unit; NULL: the unit is not split */
	/* ranges of the units read so far; the reader's owner may take the array */
	struct flow_scope_range *ranges;
	size_t range_count, range_capacity;
	size_t range_total;               /* number of ranges of all units so far */
	struct common_arena arena;        /* memory of scopes, functions and names */
	struct common_byte_map names;     /* interned texts */
	struct common_hash_map functions; /* by memory address of the description: function */
	Dwarf_Files *files;               /* files of the current unit; NULL: no files */
	bool by_llvm;                     /* LLVM compiled the current unit */
	/* bound on the remaining entries of the unit: each entry takes a byte, but links may form cycles */
	uint64_t entries;
	bool failed; /* out of memory; the data read so far are valid */
};

/* Adds the ranges of a unit, in the order of the entries. */
void flow_scope_reader_add(struct flow_scope_reader *reader, const struct flow_unit *unit);
/* Ends reading. Scopes stay valid until flow_scope_reader_free. */
void flow_scope_reader_end(struct flow_scope_reader *reader);
void flow_scope_reader_free(struct flow_scope_reader *reader);

#endif
