/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions that a unit of DWARF describes, inlined ones too, and where their code is. */
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
	unsigned depth; /* of the entry in the unit's tree */
};

/* Zero at first but for dwarf and source. */
struct flow_scope_reader {
	Dwarf *dwarf;
	struct flow_split_source *source;    /* of .dwo files */
	const struct flow_split_unit *split; /* the unit at hand is in such a file; NULL: it is not */
	struct flow_scope_range *ranges;     /* of the units that were read; whose this is may take them away */
	size_t range_count, range_capacity;
	size_t range_total;               /* of all units so far */
	struct common_arena arena;        /* scopes, functions and names */
	struct common_byte_map names;     /* interned texts */
	struct common_hash_map functions; /* by where what describes them is in memory */
	Dwarf_Files *files;               /* of the unit at hand; NULL: it names none */
	uint64_t entries;                 /* that the unit may still have: each takes a byte, but links may lead back */
	bool failed;                      /* there is no more memory: what has been read so far holds */
};

/* Adds the ranges of a unit, in the order of its entries. */
void flow_scope_reader_add(struct flow_scope_reader *reader, const struct flow_unit *unit);
/* No more units are read: scopes stay, until all is freed. */
void flow_scope_reader_end(struct flow_scope_reader *reader);
void flow_scope_reader_free(struct flow_scope_reader *reader);

#endif
