/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the read-only data of an ELF file by its sections. */
#include <stdlib.h>

#include "common/error.h"
#include "elf/state.h"

/* Limit; a file with more sections is ignored. No linker makes such a file for loading. */
#define SECTIONS_MAX 65536u

/*
 * An offset in the file at which a section begins (+1) or ends (-1): a section of read-only data, or another section.
 */
struct edge {
	uint64_t offset;
	int data, other;
};

struct edges {
	struct edge *list;
	size_t count;
	bool *code; /* by section: contains functions, regardless of flags */
};

/* ---- sections with code, regardless of their flags -------------------------------------------- */

static void mark_functions(const struct elf_file *elf, Elf_Scn *section, bool *code)
{
	Elf_Data *data = elf_getdata(section, NULL);
	const size_t entry = gelf_fsize(elf->elf, ELF_T_SYM, 1, EV_CURRENT);

	for (size_t i = 0; data && data->d_buf && i < data->d_size / entry && i < INT32_MAX; i++) {
		GElf_Sym symbol;
		unsigned type;

		if (!gelf_getsym(data, (int)i, &symbol))
			break;
		type = GELF_ST_TYPE(symbol.st_info);
		if ((type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_shndx < elf->sections)
			code[symbol.st_shndx] = true;
	}
}

static void mark_code(const struct elf_file *elf, bool *code)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf->elf, section))) {
		if (!gelf_getshdr(section, &header))
			continue;
		if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)
			mark_functions(elf, section, code);
		if (elf_ndxscn(section) < elf->sections && elf->header.e_entry >= header.sh_addr &&
		    elf->header.e_entry - header.sh_addr < header.sh_size)
			code[elf_ndxscn(section)] = true;
	}
}

/* ---- edges ----------------------------------------------------------------------------------- */

static void add_edges(struct edges *edges, const struct elf_file *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf->elf, section)) && edges->count + 2 <= 2 * elf->sections) {
		bool data;

		if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_ALLOC) || header.sh_type == SHT_NOBITS ||
		    !header.sh_size || header.sh_offset > UINT64_MAX - header.sh_size ||
		    elf_ndxscn(section) >= elf->sections)
			continue;
		data = !(header.sh_flags & (SHF_EXECINSTR | SHF_WRITE)) && !edges->code[elf_ndxscn(section)];
		edges->list[edges->count++] = (struct edge){header.sh_offset, data, !data};
		edges->list[edges->count++] = (struct edge){header.sh_offset + header.sh_size, -data, -!data};
	}
}

static int by_offset(const void *a, const void *b)
{
	const struct edge *left = a, *right = b;

	return (left->offset > right->offset) - (left->offset < right->offset);
}

/* Lists the ranges that only sections of read-only data cover. There are fewer ranges than edges. */
static size_t list_ranges(const struct edges *edges, struct elf_range *ranges)
{
	int data = 0, other = 0;
	size_t count = 0;

	for (size_t i = 0; i < edges->count; i++) {
		const struct edge *edge = &edges->list[i];
		const uint64_t end = i + 1 < edges->count ? edges->list[i + 1].offset : edge->offset;

		data += edge->data;
		other += edge->other;
		if (data > 0 && !other && end > edge->offset)
			ranges[count++] = (struct elf_range){edge->offset, end - edge->offset};
	}
	return count;
}

int elf_read_only(const struct elf_file *elf, struct elf_range **ranges, size_t *count)
{
	struct edges edges = {0};
	int status = 0;

	*ranges = NULL;
	*count = 0;
	if (!elf->sections || elf->sections > SECTIONS_MAX)
		return 0;
	edges.code = calloc(elf->sections, sizeof(*edges.code));
	edges.list = calloc(2 * elf->sections, sizeof(*edges.list));
	*ranges = calloc(2 * elf->sections, sizeof(**ranges));
	if (!edges.code || !edges.list || !*ranges) {
		status = common_fail_memory("sections", elf->sections * sizeof(*edges.list));
	} else {
		mark_code(elf, edges.code);
		add_edges(&edges, elf);
		qsort(edges.list, edges.count, sizeof(*edges.list), by_offset);
		*count = list_ranges(&edges, *ranges);
	}
	if (!*count) {
		free(*ranges);
		*ranges = NULL;
	}
	free(edges.code);
	free(edges.list);
	return status;
}
