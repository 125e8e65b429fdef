/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Extracts a unit from a package of split DWARF. The index (.debug_cu_index) gives the unit's part of each section. All
 * units share one string section, of which only the strings that the unit uses are copied.
 */
#include "elf/split_package.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/hash_map.h"
#include "elf/split_search.h"
#include "elf/state.h"

#define COLUMNS_MAX 8u /* limit for the sections of which a unit has a part */
#define INDEX_HEADER 16u
#define TEXTS_MAX ((uint64_t)1 << 30) /* limit for the strings of all units, in bytes */

struct elf_split_package {
	int fd;
	struct elf_file *elf;
	GElf_Shdr index;
	uint32_t version; /* 2 or 5 */
	uint32_t columns, units, slots;
	uint32_t kinds[COLUMNS_MAX];     /* kind of each column */
	GElf_Shdr sections[COLUMNS_MAX]; /* section of each column; size 0: missing */
	const char *names[COLUMNS_MAX];  /* section name of each column; NULL: unknown */
	char *texts;                     /* .debug_str.dwo with a terminating zero; NULL: not read yet */
	size_t texts_size;
};

/* Section names by the index's section kinds, in version 2 and in version 5. */
static const char *const names_2[] = {
	[1] = ".debug_info.dwo",        [3] = ".debug_abbrev.dwo",  [4] = ".debug_line.dwo", [5] = ".debug_loc.dwo",
	[6] = ".debug_str_offsets.dwo", [7] = ".debug_macinfo.dwo", [8] = ".debug_macro.dwo"};
static const char *const names_5[] = {
	[1] = ".debug_info.dwo",     [3] = ".debug_abbrev.dwo",      [4] = ".debug_line.dwo",
	[5] = ".debug_loclists.dwo", [6] = ".debug_str_offsets.dwo", [7] = ".debug_macro.dwo",
	[8] = ".debug_rnglists.dwo",
};
#define KIND_STR_OFFSETS 6u

/* ---- the index ----------------------------------------------------------------------------------- */

static int read_numbers(const struct elf_split_package *package, uint64_t at, uint32_t *numbers, size_t count)
{
	uint8_t bytes[4 * COLUMNS_MAX];
	const int status = elf_read(package->elf, package->index.sh_offset + at, bytes, 4 * count);

	for (size_t i = 0; !status && i < count; i++)
		numbers[i] = common_load32(bytes + 4 * i);
	return status;
}

/* Offsets of the index's parts. */
static uint64_t rows_at(const struct elf_split_package *package)
{
	return INDEX_HEADER + 8 * (uint64_t)package->slots;
}

static uint64_t columns_at(const struct elf_split_package *package)
{
	return rows_at(package) + 4 * (uint64_t)package->slots;
}

/* Row 0 holds the kinds of the sections. */
static uint64_t offsets_at(const struct elf_split_package *package, uint64_t row)
{
	return columns_at(package) + 4 * package->columns * row;
}

static uint64_t sizes_at(const struct elf_split_package *package, uint64_t row)
{
	return offsets_at(package, package->units + row);
}

static int find_sections(struct elf_split_package *package)
{
	const bool new = package->version == 5;
	const size_t known = new ? sizeof(names_5) / sizeof(*names_5) : sizeof(names_2) / sizeof(*names_2);
	const int status = read_numbers(package, columns_at(package), package->kinds, package->columns);

	for (size_t i = 0; !status && i < package->columns; i++) {
		const uint32_t kind = package->kinds[i];

		package->names[i] = kind < known ? (new ? names_5 : names_2)[kind] : NULL;
		if (!package->names[i])
			continue;
		if (!elf_section(package->elf, SHT_PROGBITS, package->names[i], &package->sections[i]))
			package->sections[i].sh_size = 0;
		else if (package->sections[i].sh_flags & SHF_COMPRESSED)
			return common_fail(PTL_UNSUPPORTED, "section %s is compressed", package->names[i]);
	}
	return status;
}

static int read_index(struct elf_split_package *package)
{
	uint32_t header[4];
	int status;

	if (!elf_section(package->elf, SHT_NULL, ".debug_cu_index", &package->index) ||
	    package->index.sh_type == SHT_NOBITS || package->index.sh_size < INDEX_HEADER)
		return common_fail(PTL_CORRUPT, "no index of units (.debug_cu_index)");
	status = read_numbers(package, 0, header, 4);
	if (status)
		return status;
	/* The version has 32 bits in version 2; 16 bits and 16 zero bits in version 5. */
	package->version = header[0];
	package->columns = header[1];
	package->units = header[2];
	package->slots = header[3];
	if (package->version != 2 && package->version != 5)
		return common_fail(PTL_UNSUPPORTED, "version %u of the index of units", (unsigned)package->version);
	if (!package->columns || package->columns > COLUMNS_MAX || (package->slots & (package->slots - 1)) ||
	    package->units > package->slots || sizes_at(package, package->units + 1) > package->index.sh_size)
		return common_fail(PTL_CORRUPT, "the index of units contradicts itself");
	return find_sections(package);
}

int elf_split_package_open(int fd, struct elf_split_package **package)
{
	int status;

	*package = calloc(1, sizeof(**package));
	if (!*package) {
		close(fd);
		return common_fail_memory("package of split DWARF", sizeof(**package));
	}
	(*package)->fd = fd;
	status = elf_open(fd, &(*package)->elf);
	if (status)
		(*package)->elf = NULL;
	else
		status = read_index(*package);
	if (status) {
		elf_split_package_close(*package);
		*package = NULL;
	}
	return status;
}

void elf_split_package_close(struct elf_split_package *package)
{
	if (!package)
		return;
	elf_close(package->elf);
	close(package->fd);
	free(package->texts);
	free(package);
}

/* Finds the row of a unit, from 1 on, in a hash table with the probe sequence of DWARF 5, section 7.3.5.3. */
static int find_row(const struct elf_split_package *package, uint64_t id, uint32_t *row)
{
	const uint32_t mask = package->slots - 1, step = ((uint32_t)(id >> 32) & mask) | 1;
	uint32_t slot = (uint32_t)id & mask;

	for (uint32_t looked = 0; looked < package->slots; looked++) {
		uint32_t half[2];
		int status = read_numbers(package, rows_at(package) + 4 * (uint64_t)slot, row, 1);

		if (!status)
			status = read_numbers(package, INDEX_HEADER + 8 * (uint64_t)slot, half, 2);
		if (status)
			return status;
		if (!*row)
			break;
		if (((uint64_t)half[1] << 32 | half[0]) == id)
			return *row <= package->units
				       ? 0
				       : common_fail(PTL_CORRUPT, "unit %016llx: row %u of %u", (unsigned long long)id,
						     (unsigned)*row, (unsigned)package->units);
		slot = (slot + step) & mask;
	}
	return common_fail(PTL_NOT_FOUND, "unit %016llx", (unsigned long long)id);
}

/* ---- the parts of a unit ------------------------------------------------------------------------- */

/* A .dwo file under construction. */
struct file {
	struct ptl_bytes bytes;
	struct {
		const char *name;
		uint64_t offset, size;
	} sections[COLUMNS_MAX + 2]; /* also the string section and the section names */
	size_t count;
	struct ptl_bytes texts;
};

static void end_section(struct file *file, const char *name, size_t offset)
{
	file->sections[file->count].name = name;
	file->sections[file->count].offset = offset;
	file->sections[file->count++].size = file->bytes.size - offset;
}

static int read_texts(struct elf_split_package *package)
{
	GElf_Shdr header;
	int status;

	if (package->texts)
		return 0;
	if (!elf_section(package->elf, SHT_PROGBITS, ".debug_str.dwo", &header) || (header.sh_flags & SHF_COMPRESSED) ||
	    header.sh_size > TEXTS_MAX)
		return common_fail(PTL_UNSUPPORTED, "no texts (.debug_str.dwo), or more than %llu MiB of them",
				   (unsigned long long)(TEXTS_MAX >> 20));
	package->texts = malloc((size_t)header.sh_size + 1);
	if (!package->texts)
		return common_fail_memory("texts of a package", (size_t)header.sh_size);
	package->texts_size = (size_t)header.sh_size;
	package->texts[package->texts_size] = 0;
	status = elf_read(package->elf, header.sh_offset, package->texts, package->texts_size);
	if (status) {
		free(package->texts);
		package->texts = NULL;
	}
	return status;
}

/*
 * Copies the strings at these offsets and replaces the offsets by those of the copies. An offset beyond the end becomes
 * the empty string.
 */
static int move_texts(struct elf_split_package *package, struct file *file, uint8_t *offsets, size_t size)
{
	struct common_hash_map copies = {0};
	int status = 0;

	common_write_le(&file->texts, 0, 1);
	for (size_t at = 0; !status && at + 4 <= size; at += 4) {
		const uint32_t old = common_load32(offsets + at);
		const uint64_t *known = common_hash_map_get(&copies, old);
		uint64_t moved = known ? *known : 0;

		if (!known && old < package->texts_size) {
			const char *text = package->texts + old;
			const size_t length = strlen(text);

			moved = file->texts.size;
			if (length >= ELF_SPLIT_MAX - moved)
				status = common_fail(PTL_CORRUPT, "texts of a unit of more than %zu MiB",
						     ELF_SPLIT_MAX >> 20);
			else
				common_write_bytes(&file->texts, text, length + 1);
			if (!status)
				status = common_hash_map_put(&copies, old, moved);
		}
		common_store32(offsets + at, (uint32_t)moved);
	}
	common_hash_map_free(&copies);
	return status;
}

static int add_part(struct elf_split_package *package, struct file *file, size_t column, uint64_t offset, uint64_t size)
{
	const GElf_Shdr *section = &package->sections[column];
	const size_t start = file->bytes.size;
	uint8_t *bytes;
	int status;

	if (!package->names[column] || !size)
		return 0;
	if (offset > section->sh_size || size > section->sh_size - offset)
		return common_fail(PTL_CORRUPT, "%llu bytes at offset %llu of %s, which has %llu",
				   (unsigned long long)size, (unsigned long long)offset, package->names[column],
				   (unsigned long long)section->sh_size);
	if (size > ELF_SPLIT_MAX - start)
		return common_fail(PTL_UNSUPPORTED, "a unit of more than %zu MiB", ELF_SPLIT_MAX >> 20);
	bytes = common_bytes_grow(&file->bytes, (size_t)size);
	if (!bytes)
		return common_fail_memory("a unit of a package", (size_t)size);
	status = elf_read(package->elf, section->sh_offset + offset, bytes, (size_t)size);
	if (!status && package->kinds[column] == KIND_STR_OFFSETS) {
		/* In version 5, a header precedes the offsets. */
		const size_t header = package->version == 5 ? 8 : 0;

		status = read_texts(package);
		if (!status && size > header)
			status = move_texts(package, file, bytes + header, (size_t)size - header);
	}
	if (!status)
		end_section(file, package->names[column], start);
	return status;
}

static int add_parts(struct elf_split_package *package, struct file *file, uint32_t row)
{
	uint32_t offsets[COLUMNS_MAX], sizes[COLUMNS_MAX];
	int status = read_numbers(package, offsets_at(package, row), offsets, package->columns);

	if (!status)
		status = read_numbers(package, sizes_at(package, row), sizes, package->columns);
	for (size_t i = 0; !status && i < package->columns; i++)
		status = add_part(package, file, i, offsets[i], sizes[i]);
	return status;
}

/* ---- the file ------------------------------------------------------------------------------------ */

static void put_section_header(struct ptl_bytes *bytes, uint32_t name, uint32_t type, uint64_t offset, uint64_t size)
{
	common_write_le(bytes, name, 4);
	common_write_le(bytes, type, 4);
	common_write_le(bytes, type == SHT_PROGBITS ? SHF_EXCLUDE : 0, 8);
	common_write_le(bytes, 0, 8); /* address */
	common_write_le(bytes, offset, 8);
	common_write_le(bytes, size, 8);
	common_write_le(bytes, 0, 8); /* link and info */
	common_write_le(bytes, type ? 1 : 0, 8);
	common_write_le(bytes, 0, 8); /* size of an entry */
}

static void put_header(uint8_t header[sizeof(Elf64_Ehdr)], uint64_t sections, size_t count)
{
	static const uint8_t ident[] = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT};

	memset(header, 0, sizeof(Elf64_Ehdr));
	memcpy(header, ident, sizeof(ident));
	common_store16(header + offsetof(Elf64_Ehdr, e_type), ET_REL);
	common_store16(header + offsetof(Elf64_Ehdr, e_machine), EM_X86_64);
	common_store32(header + offsetof(Elf64_Ehdr, e_version), EV_CURRENT);
	common_store64(header + offsetof(Elf64_Ehdr, e_shoff), sections);
	common_store16(header + offsetof(Elf64_Ehdr, e_ehsize), sizeof(Elf64_Ehdr));
	common_store16(header + offsetof(Elf64_Ehdr, e_shentsize), sizeof(Elf64_Shdr));
	common_store16(header + offsetof(Elf64_Ehdr, e_shnum), (uint16_t)count);
	common_store16(header + offsetof(Elf64_Ehdr, e_shstrndx), (uint16_t)(count - 1));
}

/* Appends strings, section names and section headers after the parts. */
static void finish_elf(struct file *file)
{
	struct ptl_bytes *bytes = &file->bytes;
	uint32_t name = 1;
	size_t at = bytes->size;

	if (file->texts.size)
		common_write_bytes(bytes, file->texts.data, file->texts.size);
	end_section(file, ".debug_str.dwo", at);
	at = bytes->size;
	common_write_le(bytes, 0, 1);
	for (size_t i = 0; i < file->count; i++)
		common_write_bytes(bytes, file->sections[i].name, strlen(file->sections[i].name) + 1);
	common_write_bytes(bytes, ".shstrtab", sizeof(".shstrtab"));
	end_section(file, ".shstrtab", at);
	while (bytes->size % 8 && !bytes->failed)
		common_write_le(bytes, 0, 1);
	at = bytes->size;
	put_section_header(bytes, 0, SHT_NULL, 0, 0);
	for (size_t i = 0; i < file->count; i++) {
		put_section_header(bytes, name, i + 1 < file->count ? SHT_PROGBITS : SHT_STRTAB,
				   file->sections[i].offset, file->sections[i].size);
		name += (uint32_t)strlen(file->sections[i].name) + 1;
	}
	if (!bytes->failed)
		put_header(bytes->data, at, file->count + 1);
}

int elf_split_package_read(struct elf_split_package *package, uint64_t id, uint8_t **data, size_t *size)
{
	struct file file = {0};
	uint32_t row;
	int status = find_row(package, id, &row);

	if (!status && common_bytes_grow(&file.bytes, sizeof(Elf64_Ehdr)))
		status = add_parts(package, &file, row);
	if (!status)
		finish_elf(&file);
	if (!status && (file.bytes.failed || file.texts.failed))
		status = common_fail_memory("a unit of a package", file.bytes.size);
	if (!status) {
		*data = file.bytes.data;
		*size = file.bytes.size;
		file.bytes = (struct ptl_bytes){0};
	}
	common_bytes_free(&file.bytes);
	common_bytes_free(&file.texts);
	return status;
}
