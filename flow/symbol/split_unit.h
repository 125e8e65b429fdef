/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A unit of split DWARF whose .dwo file is in memory. libdw reads the unit except addresses: libdw links a .dwo file to
 * its skeleton only after opening the file by name, but a file in a trace has no name.
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
	Dwarf_Die die;                  /* entry of the unit */
	struct common_cursor entries;   /* .debug_info.dwo */
	struct common_cursor addresses; /* addresses of the unit in the skeleton's file, 8 bytes each */
	struct common_cursor ranges;    /* range lists, from the unit's first list on */
	uint64_t base;                  /* base address of relative ranges */
	bool old;                       /* DWARF 4 */
};

/*
 * Opens the skeleton's unit in the bytes, which must stay valid while the unit is open. Returns false if the bytes have
 * no such unit. The caller closes the unit in any case.
 */
bool flow_split_open(Dwarf_Die *skeleton, uint64_t id, uint8_t *data, size_t size, struct flow_split_unit *split);
void flow_split_close(struct flow_split_unit *split);

/* A walk over the address ranges of an entry. Zero at first. */
struct flow_split_walk {
	enum { FLOW_SPLIT_START, FLOW_SPLIT_LIST, FLOW_SPLIT_END } state;
	struct common_cursor list;
	uint64_t base;
};

/*
 * Finds the next address range of an entry's code, [*first, *end). Returns false at the end, or if the list is damaged.
 */
bool flow_split_range(const struct flow_split_unit *split, Dwarf_Die *die, struct flow_split_walk *walk,
		      uint64_t *first, uint64_t *end);

#endif
