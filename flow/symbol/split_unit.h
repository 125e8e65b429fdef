/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A unit of split DWARF whose .dwo file is in memory. libdw reads it, but for addresses: it links a .dwo file to its skeleton only
 * where it opens that file itself, by name, and what is in a trace has none.
 */
#ifndef FLOW_SYMBOL_SPLIT_UNIT_H
#define FLOW_SYMBOL_SPLIT_UNIT_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"

struct flow_split_unit {
	Elf *elf;
	Dwarf *dwarf;
	Dwarf_Die die;                  /* of the unit */
	struct common_cursor entries;   /* .debug_info.dwo */
	struct common_cursor addresses; /* the unit's, of the skeleton's file: 8 bytes each */
	struct common_cursor ranges;    /* lists of ranges, from where the unit's begin */
	uint64_t base;                  /* to which ranges are relative */
	bool old;                       /* DWARF 4 */
};

/*
 * The unit of the skeleton in these bytes, which must stay as long as it is open; false where they do not have it. It is to be closed
 * in both cases.
 */
bool flow_split_open(Dwarf_Die *skeleton, uint64_t id, uint8_t *data, size_t size, struct flow_split_unit *split);
void flow_split_close(struct flow_split_unit *split);

/* A walk over the addresses of an entry: zero at first. */
struct flow_split_walk {
	enum { FLOW_SPLIT_START, FLOW_SPLIT_LIST, FLOW_SPLIT_END } state;
	struct common_cursor list;
	uint64_t base;
};

/* The next addresses of an entry's code, [*first, *end); false where there are no more, or they are damaged. */
bool flow_split_range(const struct flow_split_unit *split, Dwarf_Die *die, struct flow_split_walk *walk,
		      uint64_t *first, uint64_t *end);

#endif
