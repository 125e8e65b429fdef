/* SPDX-License-Identifier: BSD-2-Clause */
/* Searches .dwo files. A file without the skeleton's id is skipped. */
#include "elf/split_search.h"

#include <dwarf.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "common/text/text.h"
#include "common/vector.h"
#include "elf/debug_search.h"
#include "elf/dwarf_open.h"
#include "elf/dwarf_text.h"
#include "elf/split_package.h"
#include "elf/state.h"

#define PATH_SIZE (2 * (size_t)PATH_MAX)

struct elf_split_search {
	const char *file, *image; /* NULL: unknown */
	bool packages_open;
	struct elf_split_package **packages;
	size_t package_count;
};

/* ---- units --------------------------------------------------------------------------------------- */

bool elf_split_skeleton(Dwarf_Die *die, struct elf_split_unit *split)
{
	Dwarf_Attribute name, folder;
	uint8_t type = 0;

	if (dwarf_cu_info(die->cu, NULL, &type, NULL, NULL, &split->id, NULL, NULL) != 0 || type != DW_UT_skeleton ||
	    (!dwarf_attr(die, DW_AT_dwo_name, &name) && !dwarf_attr(die, DW_AT_GNU_dwo_name, &name)))
		return false;
	split->name = elf_dwarf_text(&name);
	split->folder = elf_dwarf_text(dwarf_attr(die, DW_AT_comp_dir, &folder));
	return split->name && *split->name;
}

bool elf_split_find(Dwarf *dwarf, uint64_t id, Dwarf_Die *die)
{
	Dwarf_CU *unit = NULL;
	uint8_t type;

	while (dwarf_get_units(dwarf, unit, &unit, NULL, &type, die, NULL) == 0) {
		uint64_t found;

		if (type == DW_UT_split_compile &&
		    dwarf_cu_info(unit, NULL, NULL, NULL, NULL, &found, NULL, NULL) == 0 && found == id)
			return true;
	}
	return false;
}

/* ---- .dwo files ---------------------------------------------------------------------------------- */

/*
 * Whether the file contains the unit. Ends `elf`. libelf unpacks compressed sections in place, so afterwards bytes in
 * memory may differ from the file's.
 */
static bool has_unit(Elf *elf, uint64_t id)
{
	Dwarf *dwarf = elf && elf_kind(elf) == ELF_K_ELF ? elf_dwarf_open(elf) : NULL;
	Dwarf_Die die;
	const bool found = dwarf && elf_split_find(dwarf, id, &die);

	dwarf_end(dwarf);
	elf_end(elf);
	return found;
}

static bool read_whole(int fd, size_t size, uint8_t **data)
{
	*data = size && size <= ELF_SPLIT_MAX ? malloc(size) : NULL;
	if (*data && common_read_at(fd, *data, size, 0) == 0)
		return true;
	free(*data);
	*data = NULL;
	return false;
}

/* Opens the regular file with this name; -1 on failure. */
__attribute__((format(printf, 2, 0))) static int open_named(struct stat *info, const char *format, va_list arguments)
{
	char path[PATH_SIZE];
	const int used = vsnprintf(path, sizeof(path), format, arguments);

	return used > 0 && (size_t)used < sizeof(path) ? common_open_regular(path, info) : -1;
}

/* Reads the file with this name, if the file contains the unit. */
__attribute__((format(printf, 4, 5))) static bool try_file(uint64_t id, uint8_t **data, size_t *size,
							   const char *format, ...)
{
	struct stat info;
	va_list arguments;
	bool found;
	int fd;

	va_start(arguments, format);
	fd = open_named(&info, format, arguments);
	va_end(arguments);
	if (fd < 0)
		return false;
	elf_version(EV_CURRENT);
	*size = (size_t)info.st_size;
	found = has_unit(elf_begin(fd, ELF_C_READ, NULL), id) && read_whole(fd, *size, data);
	close(fd);
	return found;
}

/* Tries the name relative to the folder, then the last part of the name, as the file may have been copied there. */
static bool try_folder(const struct elf_split_unit *split, const char *folder, int length, uint8_t **data, size_t *size)
{
	const char *base = common_base_name(split->name);

	return (*split->name != '/' && base != split->name &&
		try_file(split->id, data, size, "%.*s/%s", length, folder, split->name)) ||
	       try_file(split->id, data, size, "%.*s/%s", length, folder, base);
}

static bool try_compiled(const struct elf_split_unit *split, uint8_t **data, size_t *size)
{
	if (*split->name == '/')
		return try_file(split->id, data, size, "%s", split->name);
	return split->folder && *split->folder == '/' &&
	       try_file(split->id, data, size, "%s/%s", split->folder, split->name);
}

/* ---- packages ------------------------------------------------------------------------------------ */

__attribute__((format(printf, 2, 3))) static void add_package(struct elf_split_search *search, const char *format, ...)
{
	struct elf_split_package *package;
	struct stat info;
	va_list arguments;
	int fd;

	va_start(arguments, format);
	fd = open_named(&info, format, arguments);
	va_end(arguments);
	if (fd < 0 || elf_split_package_open(fd, &package))
		return;
	if (common_vector_room(&search->packages, search->package_count, sizeof(package)))
		search->packages[search->package_count++] = package;
	else
		elf_split_package_close(package);
}

static void open_packages(struct elf_split_search *search)
{
	const char *folder;
	int length;

	search->packages_open = true;
	if (search->file)
		add_package(search, "%s.dwp", search->file);
	if (!search->image)
		return;
	if (!search->file || strcmp(search->file, search->image) != 0)
		add_package(search, "%s.dwp", search->image);
	for (size_t i = 0; (folder = elf_debug_folder(i, &length)); i++) {
		add_package(search, "%.*s%s.dwp", length, folder, search->image);
		add_package(search, "%.*s/%s.dwp", length, folder, common_base_name(search->image));
	}
}

static bool try_packages(struct elf_split_search *search, uint64_t id, uint8_t **data, size_t *size)
{
	if (!search->packages_open)
		open_packages(search);
	for (size_t i = 0; i < search->package_count; i++) {
		if (elf_split_package_read(search->packages[i], id, data, size) != 0)
			continue;
		if (has_unit(elf_memory((char *)*data, *size), id))
			return true;
		free(*data);
		*data = NULL;
	}
	return false;
}

/* ---- the search ---------------------------------------------------------------------------------- */

int elf_split_search_new(const char *file, const char *image, struct elf_split_search **search)
{
	*search = calloc(1, sizeof(**search));
	if (!*search)
		return common_fail_memory("search for .dwo files", sizeof(**search));
	(*search)->file = file && *file == '/' ? file : NULL;
	(*search)->image = image && *image == '/' ? image : NULL;
	return 0;
}

void elf_split_search_free(struct elf_split_search *search)
{
	if (!search)
		return;
	for (size_t i = 0; i < search->package_count; i++)
		elf_split_package_close(search->packages[i]);
	free(search->packages);
	free(search);
}

bool elf_split_read(struct elf_split_search *search, const struct elf_split_unit *split, uint8_t **data, size_t *size)
{
	const char *folder;
	bool found = false;
	int length;

	for (size_t i = 0; !found && (folder = elf_debug_folder(i, &length)); i++)
		found = try_folder(split, folder, length, data, size);
	if (!found && search->file) {
		length = (int)(common_base_name(search->file) - search->file);
		found = try_folder(split, search->file, length, data, size);
	}
	return found || try_compiled(split, data, size) || try_packages(search, split->id, data, size);
}

/* ---- all .dwo files of an ELF file -------------------------------------------------------------- */

static int visit_unit(struct elf_split_search *search, Dwarf_Die *die, uint64_t *most, elf_split_visit *visit,
		      void *context)
{
	struct elf_split_unit split;
	uint8_t *data;
	size_t size;
	int status = 0;

	if (!elf_split_skeleton(die, &split) || !elf_split_read(search, &split, &data, &size))
		return 0;
	if (size <= *most) {
		*most -= size;
		status = visit(context, &split, data, size);
	}
	free(data);
	return status;
}

int elf_split_each(const struct elf_file *elf, const char *file, const char *image, uint64_t most,
		   elf_split_visit *visit, void *context)
{
	struct elf_split_search *search;
	Dwarf_CU *unit = NULL;
	Dwarf *dwarf;
	GElf_Shdr header;
	Dwarf_Die die;
	int status;

	/* Without .debug_addr, no split unit describes code. */
	if (!elf_section(elf, SHT_PROGBITS, ".debug_addr", &header))
		return 0;
	status = elf_split_search_new(file, image, &search);
	dwarf = status ? NULL : elf_dwarf_open(elf->elf);
	while (dwarf && !status && dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0)
		status = visit_unit(search, &die, &most, visit, context);
	dwarf_end(dwarf);
	elf_split_search_free(search);
	return status;
}
