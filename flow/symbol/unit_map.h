/* SPDX-License-Identifier: BSD-2-Clause */
/* Which units of .debug_info describe the code of an address, by what the units say themselves: nothing below their first entries is read. */
#ifndef FLOW_SYMBOL_UNIT_MAP_H
#define FLOW_SYMBOL_UNIT_MAP_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flow_unit {
	Dwarf_Off entry; /* the first one */
	uint64_t size;
	bool anywhere; /* it does not say where its code is */
};

/* Code of a unit: [first, end). */
struct flow_unit_extent {
	uint64_t first, end;
	uint32_t unit;
};

/* Code in one piece of units that overlap, such as all that have the same template: [first, end). */
struct flow_unit_cluster {
	uint64_t first, end;
	size_t extent, extent_count;
};

struct flow_unit_map {
	struct flow_unit *units; /* in the order of the file; those that have no code are left out */
	size_t unit_count, unit_capacity;
	struct flow_unit_extent *extents;
	size_t extent_count, extent_capacity;
	struct flow_unit_cluster *clusters; /* in order, apart from each other */
	size_t cluster_count;
	bool split; /* some unit is the skeleton of one in a .dwo file */
};

/* Code that is not in the file is no unit's (flow/symbol/code_ranges.h). False without memory; free in any case. */
bool flow_unit_map_make(Dwarf *dwarf, struct flow_unit_map *map);
void flow_unit_map_free(struct flow_unit_map *map);

/* The cluster of an address; NULL: no unit says that it has it. */
const struct flow_unit_cluster *flow_unit_map_find(const struct flow_unit_map *map, uint64_t address);

#endif
