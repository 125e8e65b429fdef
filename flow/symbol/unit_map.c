/* SPDX-License-Identifier: BSD-2-Clause */
/* Sorts the addresses of compilation units, and joins overlapping units into clusters. */
#include "flow/symbol/unit_map.h"

#include <dwarf.h>
#include <stdlib.h>

#include "common/partition.h"
#include "common/vector.h"
#include "elf/split_search.h"
#include "flow/symbol/code_ranges.h"

#define EXTENTS_MAX ((size_t)1 << 24)

void flow_unit_map_free(struct flow_unit_map *map)
{
	free(map->units);
	free(map->extents);
	free(map->clusters);
	*map = (struct flow_unit_map){0};
}

static bool add_extent(struct flow_unit_map *map, uint64_t first, uint64_t end)
{
	if (map->extent_count == EXTENTS_MAX ||
	    !COMMON_VECTOR_GROW(map->extents, map->extent_capacity, map->extent_count + 1))
		return false;
	map->extents[map->extent_count++] = (struct flow_unit_extent){first, end, (uint32_t)map->unit_count};
	return true;
}

/* Adds the addresses of the next unit. A unit without addresses, or with damaged addresses, may have code anywhere. */
static bool add_extents(struct flow_unit_map *map, Dwarf_Die *die, const struct flow_code_ranges *code, bool *anywhere)
{
	const size_t before = map->extent_count;
	Dwarf_Addr base, first, end;
	ptrdiff_t at = 0;
	bool any = false;

	while ((at = dwarf_ranges(die, at, &base, &first, &end)) > 0) {
		any = true;
		if (first < end && flow_code_ranges_have(code, first) && !add_extent(map, first, end))
			return false;
	}
	*anywhere = !any || at < 0;
	if (*anywhere)
		map->extent_count = before;
	return true;
}

/* Checks whether the unit may have code. Type units and partial units have no code. */
static bool has_code(Dwarf_Die *die)
{
	const int tag = dwarf_tag(die);

	return tag != DW_TAG_partial_unit && tag != DW_TAG_type_unit;
}

static bool add_unit(struct flow_unit_map *map, Dwarf_Die *die, Dwarf_Off entry, uint64_t size,
		     const struct flow_code_ranges *code)
{
	const size_t before = map->extent_count;
	struct elf_split_unit split;
	bool anywhere;

	map->split |= elf_split_skeleton(die, &split);
	if (!add_extents(map, die, code, &anywhere))
		return false;
	if (anywhere ? !has_code(die) : map->extent_count == before)
		return true;
	if (map->unit_count == UINT32_MAX || !COMMON_VECTOR_GROW(map->units, map->unit_capacity, map->unit_count + 1))
		return false;
	map->units[map->unit_count++] = (struct flow_unit){entry, size, anywhere};
	return true;
}

static bool add_units(struct flow_unit_map *map, Dwarf *dwarf, const struct flow_code_ranges *code)
{
	Dwarf_Off offset = 0, next;
	size_t header_size;
	Dwarf_Die die;

	for (; dwarf_nextcu(dwarf, offset, &next, &header_size, NULL, NULL, NULL) == 0; offset = next)
		if (dwarf_offdie(dwarf, offset + header_size, &die) &&
		    !add_unit(map, &die, offset + header_size, next - offset, code))
			return false;
	return true;
}

static int compare_extents(const void *left, const void *right)
{
	const struct flow_unit_extent *a = left, *b = right;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return (a->unit > b->unit) - (a->unit < b->unit);
}

static bool make_clusters(struct flow_unit_map *map)
{
	struct flow_unit_cluster *last = NULL;

	map->clusters = malloc((map->extent_count + 1) * sizeof(*map->clusters));
	if (!map->clusters)
		return false;
	if (map->extent_count)
		qsort(map->extents, map->extent_count, sizeof(*map->extents), compare_extents);
	for (size_t i = 0; i < map->extent_count; i++) {
		const struct flow_unit_extent *extent = &map->extents[i];

		if (!last || extent->first >= last->end) {
			last = &map->clusters[map->cluster_count++];
			*last = (struct flow_unit_cluster){extent->first, extent->end, i, 0};
		}
		if (extent->end > last->end)
			last->end = extent->end;
		last->extent_count++;
	}
	return true;
}

bool flow_unit_map_make(Dwarf *dwarf, struct flow_unit_map *map)
{
	struct flow_code_ranges code;
	bool room;

	*map = (struct flow_unit_map){0};
	room = flow_code_ranges_read(dwarf_getelf(dwarf), &code) && add_units(map, dwarf, &code) && make_clusters(map);
	flow_code_ranges_free(&code);
	return room;
}

const struct flow_unit_cluster *flow_unit_map_find(const struct flow_unit_map *map, uint64_t address)
{
	/* number of clusters that begin at or before address */
	const size_t low = COMMON_PARTITION(map->cluster_count, at, map->clusters[at].first <= address);

	return low && address < map->clusters[low - 1].end ? &map->clusters[low - 1] : NULL;
}
