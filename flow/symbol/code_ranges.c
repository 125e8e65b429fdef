/* SPDX-License-Identifier: BSD-2-Clause */
/* Collects executable sections or segments, and sorts and merges their ranges. */
#include "flow/symbol/code_ranges.h"

#include <gelf.h>
#include <stdlib.h>

#include "common/partition.h"
#include "common/vector.h"

static bool add_range(struct flow_code_ranges *ranges, uint64_t first, uint64_t size)
{
	if (!size)
		return true;
	if (!COMMON_VECTOR_GROW(ranges->list, ranges->capacity, ranges->count + 1))
		return false;
	ranges->list[ranges->count++] = (struct flow_code_range){first,
								 size < UINT64_MAX - first ? first + size : UINT64_MAX};
	return true;
}

static bool add_sections(Elf *elf, struct flow_code_ranges *ranges)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	bool room = true;

	while (room && (section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_flags & SHF_ALLOC && header.sh_flags & SHF_EXECINSTR)
			room = add_range(ranges, header.sh_addr, header.sh_size);
	return room;
}

static bool add_segments(Elf *elf, struct flow_code_ranges *ranges)
{
	GElf_Phdr segment;
	size_t count = 0;
	bool room = true;

	if (elf_getphdrnum(elf, &count) != 0)
		return true;
	for (size_t i = 0; room && i < count && gelf_getphdr(elf, (int)i, &segment); i++)
		if (segment.p_type == PT_LOAD && segment.p_flags & PF_X)
			room = add_range(ranges, segment.p_vaddr, segment.p_memsz);
	return room;
}

static int compare_ranges(const void *left, const void *right)
{
	const struct flow_code_range *a = left, *b = right;

	return (a->first > b->first) - (a->first < b->first);
}

static void merge_ranges(struct flow_code_ranges *ranges)
{
	size_t count = 0;

	if (ranges->count)
		qsort(ranges->list, ranges->count, sizeof(*ranges->list), compare_ranges);
	for (size_t i = 0; i < ranges->count; i++) {
		const struct flow_code_range range = ranges->list[i];

		if (!count || range.first > ranges->list[count - 1].end)
			ranges->list[count++] = range;
		else if (range.end > ranges->list[count - 1].end)
			ranges->list[count - 1].end = range.end;
	}
	ranges->count = count;
}

bool flow_code_ranges_read(Elf *elf, struct flow_code_ranges *ranges)
{
	GElf_Ehdr header;
	bool room;

	*ranges = (struct flow_code_ranges){0};
	if (!gelf_getehdr(elf, &header) || header.e_type == ET_REL)
		return true;
	room = add_sections(elf, ranges) && (ranges->count || add_segments(elf, ranges));
	merge_ranges(ranges);
	return room;
}

bool flow_code_ranges_have(const struct flow_code_ranges *ranges, uint64_t address)
{
	/* number of ranges that begin at or before address */
	const size_t low = COMMON_PARTITION(ranges->count, at, ranges->list[at].first <= address);

	return !ranges->count || (low && address < ranges->list[low - 1].end);
}

void flow_code_ranges_free(struct flow_code_ranges *ranges)
{
	free(ranges->list);
	*ranges = (struct flow_code_ranges){0};
}
