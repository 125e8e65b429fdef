/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds sections as libdw does: sections without bytes are ignored. */
#include "flow/symbol/dwarf_section.h"

#include <gelf.h>
#include <string.h>

/* Compares a section's name, which begins with a dot. The old name ".zdebug_line" also matches "debug_line". */
static bool is_named(const char *found, const char *name)
{
	return found && *found == '.' &&
	       (strcmp(found + 1, name) == 0 || (found[1] == 'z' && !strcmp(found + 2, name)));
}

static Elf_Scn *find_section(Elf *elf, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (!elf || elf_getshdrstrndx(elf, &names) != 0)
		return NULL;
	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, header) && header->sh_type != SHT_NOBITS &&
		    is_named(elf_strptr(elf, names, header->sh_name), name))
			return section;
	return NULL;
}

bool flow_dwarf_has_section(Elf *elf, const char *name)
{
	GElf_Shdr header;

	return find_section(elf, name, &header) != NULL;
}

struct common_cursor flow_dwarf_section(Elf *elf, const char *name)
{
	GElf_Shdr header;
	Elf_Scn *const section = find_section(elf, name, &header);
	const Elf_Data *data = NULL;

	if (section && (!(header.sh_flags & SHF_COMPRESSED) || elf_compress(section, 0, 0) >= 0))
		data = elf_getdata(section, NULL);
	return common_cursor(data ? data->d_buf : NULL, data && data->d_buf ? data->d_size : 0);
}

uint64_t flow_dwarf_unsigned(struct common_cursor *bytes)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		const uint8_t byte = common_read8(bytes);

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	bytes->failed = true;
	return 0;
}

int64_t flow_dwarf_signed(struct common_cursor *bytes)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		const uint8_t byte = common_read8(bytes);

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if (byte & 0x40 && shift + 7 < 64)
			value |= UINT64_MAX << (shift + 7);
		return (int64_t)value;
	}
	bytes->failed = true;
	return 0;
}
