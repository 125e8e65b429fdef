/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the units of .debug_info that describe the code of an address, by the addresses in each unit's first entry. No
 * other entries are read.
 */
#ifndef FLOW_SYMBOL_UNIT_MAP_H
#define FLOW_SYMBOL_UNIT_MAP_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flow_unit {
	Dwarf_Off entry; /* offset of the unit's first entry */
	uint64_t size;
	bool anywhere; /* the unit does not tell its addresses */
};

/* Code of a unit: [first, end). */
struct flow_unit_extent {
	uint64_t first, end;
	uint32_t unit;
};

/* Contiguous code of overlapping units, such as units with a common template: [first, end). */
struct flow_unit_cluster {
	uint64_t first, end;
	size_t extent, extent_count;
};

struct flow_unit_map {
	struct flow_unit *units; /* units with code, in the order of the file */
	size_t unit_count, unit_capacity;
	struct flow_unit_extent *extents;
	size_t extent_count, extent_capacity;
	struct flow_unit_cluster *clusters; /* sorted clusters, not overlapping */
	size_t cluster_count;
	bool split; /* a unit is the skeleton of a unit in a .dwo file */
};

/*
 * Makes the map. Code that is missing in the file belongs to no unit (flow/symbol/code_ranges.h). Returns false without
 * memory. The caller frees the map in any case.
 */
bool flow_unit_map_make(Dwarf *dwarf, struct flow_unit_map *map);
void flow_unit_map_free(struct flow_unit_map *map);

/* Finds the cluster of an address; NULL: no unit claims the address. */
const struct flow_unit_cluster *flow_unit_map_find(const struct flow_unit_map *map, uint64_t address);

#endif
