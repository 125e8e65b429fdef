/* SPDX-License-Identifier: BSD-2-Clause */
#include "elf/dwarf_text.h"

#include <dwarf.h>
#include <gelf.h>
#include <string.h>

static bool has_entries(const char *section)
{
	return section && (!strncmp(section, ".debug_info", 11) || !strncmp(section, ".debug_types", 12) ||
			   !strncmp(section, ".zdebug_", 8));
}

static bool has_texts(const char *section)
{
	return section && (!strcmp(section, ".debug_str") || !strcmp(section, ".debug_str.dwo") ||
			   !strncmp(section, ".debug_line_str", 15) || !strcmp(section, ".zdebug_str"));
}

/* Returns the content of the next section that is wanted, and moves *section there. NULL: no further section. */
static const Elf_Data *next_content(Elf *elf, bool (*is_wanted)(const char *name), Elf_Scn **section)
{
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return NULL;
	while ((*section = elf_nextscn(elf, *section))) {
		GElf_Shdr header;
		const Elf_Data *data = NULL;

		if (gelf_getshdr(*section, &header) && is_wanted(elf_strptr(elf, names, header.sh_name)))
			data = elf_getdata(*section, NULL);
		if (data && data->d_buf && data->d_size)
			return data;
	}
	return NULL;
}

bool elf_dwarf_texts_end(Elf *elf)
{
	const Elf_Data *data;
	Elf_Scn *section = NULL;

	while ((data = next_content(elf, has_texts, &section)))
		if (((const char *)data->d_buf)[data->d_size - 1] != 0)
			return false;
	return true;
}

/* Returns the bytes from the text to the end of its section; 0: the text is in no section of entries. */
static size_t rest_of_section(Elf *elf, const char *text)
{
	const Elf_Data *data;
	Elf_Scn *section = NULL;

	while ((data = next_content(elf, has_entries, &section)))
		if (text >= (const char *)data->d_buf && text < (const char *)data->d_buf + data->d_size)
			return data->d_size - (size_t)(text - (const char *)data->d_buf);
	return 0;
}

const char *elf_dwarf_text(Dwarf_Attribute *attribute)
{
	const char *text = dwarf_formstring(attribute);

	if (!text || dwarf_whatform(attribute) != DW_FORM_string)
		return text;
	return memchr(text, 0, rest_of_section(dwarf_getelf(dwarf_cu_getdwarf(attribute->cu)), text)) ? text : NULL;
}

const char *elf_dwarf_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;

	return elf_dwarf_text(dwarf_attr_integrate(die, DW_AT_name, &attribute));
}
