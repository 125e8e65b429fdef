/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads symbol tables of ELF files piece by piece. A program with debug information may have gigabytes, and tables of
 * hundreds of megabytes, while few symbols are wanted. Wanted symbols are gathered first; then their names are read in
 * file order.
 */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"
#include "elf/state.h"

#define SYMBOLS_AT_ONCE 16384u
#define NAMES_AT_ONCE ((size_t)1 << 20)
/* limit for a file's symbol table, in bytes; a sparse file can declare terabytes */
#define TABLE_MAX ((uint64_t)2 << 30)

struct table {
	const struct elf_file *elf;
	struct elf_symbol_list *symbols;
	size_t first;        /* number of symbols in the list before this table */
	uint8_t *executable; /* by section index: the section holds code */
	uint64_t *names;     /* by gathered symbol: offset of the name << 32 | number of the symbol */
	size_t name_room;
	GElf_Shdr strings;
	struct elf_name_room room;
	/* The piece of the string section in memory: */
	char *window;
	uint64_t window_start;
	size_t window_size;
	/* The strings at offsets [run_start, run_end) are in the window and contain no zero byte. */
	uint64_t run_start;
	uint64_t run_end;
	uint64_t counted; /* offset up to which name bytes were added to the room */
};

/* Finds the sections with code: a symbol without a type is a function only in such a section. */
static int find_code(struct table *table)
{
	const struct elf_file *elf = table->elf;
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	table->executable = calloc(elf->sections ? elf->sections : 1, 1);
	if (!table->executable)
		return common_fail_memory("sections", elf->sections);
	while ((section = elf_nextscn(elf->elf, section))) {
		const size_t index = elf_ndxscn(section);

		if (index < elf->sections && gelf_getshdr(section, &header))
			table->executable[index] = (header.sh_flags & SHF_EXECINSTR) != 0;
	}
	return 0;
}

/* Returns the type letter of ptl/symbols.h; 0 if the symbol is no function. */
static uint8_t letter_of(const struct table *table, const GElf_Sym *symbol)
{
	const unsigned type = GELF_ST_TYPE(symbol->st_info), bind = GELF_ST_BIND(symbol->st_info);

	if (symbol->st_shndx == SHN_UNDEF)
		return 0;
	if (type == STT_GNU_IFUNC)
		return 'i';
	if (type != STT_FUNC &&
	    !(type == STT_NOTYPE && symbol->st_shndx < table->elf->sections && table->executable[symbol->st_shndx]))
		return 0;
	return bind == STB_LOCAL ? 't' : bind == STB_WEAK ? 'W' : 'T';
}

/* ---- symbols ----------------------------------------------------------------------------- */

static GElf_Sym symbol_at(const struct elf_file *elf, const void *symbols, size_t i)
{
	const Elf32_Sym *small;

	if (gelf_getclass(elf->elf) == ELFCLASS64)
		return ((const Elf64_Sym *)symbols)[i];
	small = (const Elf32_Sym *)symbols + i;
	return (GElf_Sym){
		.st_name = small->st_name,
		.st_info = small->st_info,
		.st_other = small->st_other,
		.st_shndx = small->st_shndx,
		.st_value = small->st_value,
		.st_size = small->st_size,
	};
}

static int gather_one(struct table *table, const GElf_Sym *found)
{
	const struct ptl_symbol symbol = {
		.address = found->st_value, .size = found->st_size, .type = letter_of(table, found)};
	const size_t number = table->symbols->count - table->first;
	int status;

	if (!symbol.type || !found->st_name || !elf_symbol_list_wants(table->symbols, symbol.address))
		return 0;
	if (number >= UINT32_MAX || COMMON_VECTOR_RESERVE(table->names, table->name_room, number + 1, "symbols"))
		return PTL_NO_MEMORY;
	status = elf_symbol_list_add(table->symbols, &symbol);
	if (!status)
		table->names[number] = (uint64_t)found->st_name << 32 | number;
	return status;
}

static int gather_symbols(struct table *table, const GElf_Shdr *header)
{
	const struct elf_file *elf = table->elf;
	const size_t entry = gelf_fsize(elf->elf, ELF_T_SYM, 1, EV_CURRENT);
	const uint64_t count = entry ? header->sh_size / entry : 0;
	void *symbols = malloc(SYMBOLS_AT_ONCE * sizeof(Elf64_Sym));
	int status = symbols ? 0 : common_fail_memory("symbols", SYMBOLS_AT_ONCE * sizeof(Elf64_Sym));

	for (uint64_t at = 0; !status && at < count; at += SYMBOLS_AT_ONCE) {
		const size_t n = count - at < SYMBOLS_AT_ONCE ? (size_t)(count - at) : SYMBOLS_AT_ONCE;
		Elf_Data data = {.d_buf = symbols, .d_type = ELF_T_SYM, .d_version = EV_CURRENT, .d_size = n * entry};

		status = elf_read(elf, header->sh_offset + at * entry, symbols, n * entry);
		if (!status && !gelf_xlatetom(elf->elf, &data, &data, elf->header.e_ident[EI_DATA]))
			status = elf_failure("symbols");
		for (size_t i = at ? 0 : 1; !status && i < n; i++) {
			const GElf_Sym found = symbol_at(elf, symbols, i);

			status = gather_one(table, &found);
		}
	}
	free(symbols);
	return status;
}

/* ---- names ------------------------------------------------------------------------------- */

static int compare_symbols(const void *a, const void *b)
{
	const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/*
 * Finds the end of the name at an offset, in the window. Overlapping names end at the same place, so each byte is
 * scanned only once. The room grows by the bytes found, not by the declared size of the strings, since a sparse file
 * can declare any size.
 */
static void find_run(struct table *table, uint64_t offset)
{
	const size_t at = (size_t)(offset - table->window_start);

	if (offset >= table->run_start && offset < table->run_end)
		return;
	table->run_start = offset;
	table->run_end = offset + strnlen(table->window + at, table->window_size - at);
	if (table->run_end > table->counted) {
		const uint64_t from = offset > table->counted ? offset : table->counted;

		table->room.whole += ELF_NAMES_PER_STRINGS * (table->run_end - from);
		table->counted = table->run_end;
	}
}

/*
 * Returns the name at an offset of the strings, if in the window. *size: SIZE_MAX if the window does not contain the
 * name's end.
 */
static const char *in_window(struct table *table, uint64_t offset, size_t *size)
{
	*size = SIZE_MAX;
	if (offset < table->window_start || offset - table->window_start >= table->window_size)
		return NULL;
	find_run(table, offset);
	if (table->run_end - offset >= ELF_NAME_MAX)
		*size = ELF_NAME_MAX;
	else if (table->run_end < table->window_start + table->window_size)
		*size = (size_t)(table->run_end - offset);
	return table->window + (offset - table->window_start);
}

static int read_window(struct table *table, uint64_t offset)
{
	const uint64_t rest = table->strings.sh_size - offset;

	table->window_start = offset;
	table->run_start = table->run_end = 0;
	table->window_size = rest < NAMES_AT_ONCE ? (size_t)rest : NAMES_AT_ONCE;
	return elf_read(table->elf, table->strings.sh_offset + offset, table->window, table->window_size);
}

/*
 * Finds the name at an offset of the strings. *name points into the window and is valid until the next call. *size: 0
 * if the name is empty or incomplete.
 */
static int find_name(struct table *table, uint64_t offset, const char **name, size_t *size)
{
	*size = 0;
	if (offset >= table->strings.sh_size)
		return 0;
	*name = in_window(table, offset, size);
	if (*size == SIZE_MAX && (!*name || table->window_start + table->window_size < table->strings.sh_size)) {
		const int status = read_window(table, offset);

		if (status < 0)
			return status;
		*name = in_window(table, offset, size);
	}
	if (*size == SIZE_MAX)
		*size = 0;
	return 0;
}

/* A name in the list, with its place in the strings. */
struct named {
	const char *name; /* NULL: no name yet */
	uint64_t offset;
	size_t size;
};

/*
 * Names a symbol. A name that begins within the last name is the end of the last name and shares its memory, so the
 * names of one table take no more memory than its strings. Names may still be cut, because a trace stores each name in
 * full. A symbol without room for a name becomes a function without a name.
 */
static int name_symbol(struct table *table, uint64_t offset, struct ptl_symbol *symbol, struct named *last)
{
	const bool within = last->name && offset - last->offset < last->size;
	const char *name = within ? last->name + (offset - last->offset) : NULL;
	size_t size = within ? last->size - (size_t)(offset - last->offset) : 0, fitting;
	int status = within ? 0 : find_name(table, offset, &name, &size);

	if (status < 0 || !size)
		return status;
	fitting = elf_symbol_list_fit(table->symbols, size, &table->room);
	if (!fitting) {
		symbol->name = "";
		symbol->type = 'u';
		return 0;
	}
	if (within && fitting == size) {
		symbol->name = name;
		return 0;
	}
	symbol->name = elf_symbol_list_name(table->symbols, name, fitting, "");
	if (symbol->name && !within && fitting == size)
		*last = (struct named){symbol->name, offset, size};
	return symbol->name ? 0 : PTL_NO_MEMORY;
}

/* Drops symbols without a name. */
static void keep_named(const struct table *table)
{
	struct elf_symbol_list *symbols = table->symbols;
	size_t named = table->first;

	for (size_t i = table->first; i < symbols->count; i++)
		if (symbols->list[i].name)
			symbols->list[named++] = symbols->list[i];
	symbols->count = named;
}

/* Names all gathered symbols. */
static int name_all(struct table *table)
{
	struct elf_symbol_list *symbols = table->symbols;
	const size_t count = symbols->count - table->first;
	struct named last = {.name = NULL};
	int status = 0;

	table->room = elf_name_room(count);
	if (count)
		qsort(table->names, count, sizeof(*table->names), compare_symbols);
	for (size_t i = 0; !status && i < count; i++)
		status = name_symbol(table, table->names[i] >> 32,
				     &symbols->list[table->first + (uint32_t)table->names[i]], &last);
	keep_named(table);
	return status;
}

int elf_add_table(const struct elf_file *elf, uint32_t type, struct elf_symbol_list *symbols)
{
	struct table table = {.elf = elf, .symbols = symbols, .first = symbols->count};
	GElf_Shdr header;
	Elf_Scn *strings;
	int status;

	if (!elf_section(elf, type, NULL, &header))
		return 0;
	if (header.sh_size > TABLE_MAX)
		return common_fail(PTL_CORRUPT, "a symbol table of %llu bytes", (unsigned long long)header.sh_size);
	strings = elf_getscn(elf->elf, header.sh_link);
	if (!strings || !gelf_getshdr(strings, &table.strings) || table.strings.sh_type != SHT_STRTAB)
		return common_fail(PTL_CORRUPT, "symbol table: there is no table of its names");
	table.window = malloc(NAMES_AT_ONCE);
	status = table.window ? find_code(&table) : common_fail_memory("names of symbols", NAMES_AT_ONCE);
	if (!status)
		status = gather_symbols(&table, &header);
	if (!status)
		status = name_all(&table);
	free(table.window);
	free(table.names);
	free(table.executable);
	return status < 0 ? common_fail_in(status, "symbol table") : 0;
}
