/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions of ELF files: symbol tables, PLT entries by the relocations of their slots, and unwind tables for the
 * functions of a stripped file.
 */
#include <stdlib.h>
#include <string.h>

#include <ptl/symbols.h>

#include "common/error.h"
#include "common/hash_map.h"
#include "elf/mini_debug.h"
#include "elf/state.h"

#define PLT_ENTRY_MAX 16
/* limit for each section that describes the PLT, in bytes; without names above */
#define PLT_DATA_MAX ((uint64_t)32 << 20)
#define PLT_NAMES_MAX ((uint64_t)16 << 20)

/*
 * In a slot's value: the slot is filled by the IFUNC at the address in the lower bits, whose name is in a symbol table.
 */
#define BY_ADDRESS (UINT64_C(1) << 63)

/*
 * Maps the address of each GOT slot to the index of its dynamic symbol, or to BY_ADDRESS and the address of an IFUNC.
 */
static int find_slots(const struct elf_file *elf, struct common_hash_map *slots)
{
	const size_t entry = gelf_fsize(elf->elf, ELF_T_RELA, 1, EV_CURRENT);
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	int status = 0;

	while (status == 0 && (section = elf_nextscn(elf->elf, section))) {
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA)
			continue;
		data = header.sh_size <= PLT_DATA_MAX ? elf_getdata(section, NULL) : NULL;
		for (size_t i = 0; data && status == 0 && i < data->d_size / entry && i < INT32_MAX; i++) {
			GElf_Rela rela;
			uint64_t type;

			if (!gelf_getrela(data, (int)i, &rela))
				break;
			type = GELF_R_TYPE(rela.r_info);
			if (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT)
				status = common_hash_map_put(slots, rela.r_offset, GELF_R_SYM(rela.r_info));
			else if (type == R_X86_64_IRELATIVE)
				status = common_hash_map_put(slots, rela.r_offset,
							     BY_ADDRESS | (uint64_t)rela.r_addend);
		}
	}
	return status;
}

/* Finds the GOT slot that a PLT entry jumps through, by its jmp *disp(%rip). */
static bool plt_slot(const uint8_t *code, size_t size, uint64_t address, uint64_t *slot)
{
	for (size_t i = 0; i + 6 <= size; i++) {
		if (code[i] != 0xff || code[i + 1] != 0x25)
			continue;
		*slot = address + i + 6 + (uint64_t)(int64_t)(int32_t)common_load32(code + i + 2);
		return true;
	}
	return false;
}

/* A symbol table small enough to be read whole. data: NULL if missing. */
struct names {
	Elf_Data *data;
	uint64_t strings; /* index of the string section */
};

static struct names open_names(const struct elf_file *elf, uint32_t type)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_section(elf, type, NULL, &header);

	if (!section || header.sh_size > PLT_DATA_MAX)
		return (struct names){0};
	return (struct names){elf_getdata(section, NULL), header.sh_link};
}

/* Returns the symbol with index i; false if out of range. */
static bool symbol_at(const struct names *names, uint64_t i, GElf_Sym *symbol)
{
	return names->data && i <= INT32_MAX && gelf_getsym(names->data, (int)i, symbol);
}

/* Returns the name of the symbol with index i, or NULL. */
static const char *name_at(const struct elf_file *elf, const struct names *names, uint64_t i, GElf_Sym *symbol)
{
	const char *name;

	if (!symbol_at(names, i, symbol))
		return NULL;
	name = elf_string(elf, names->strings, symbol->st_name);
	return name && *name ? name : NULL;
}

/*
 * Maps the addresses of IFUNCs (STT_GNU_IFUNC, functions that choose an implementation at load time) to their symbol
 * indexes. Of several symbols at an address, takes the first, or a later symbol whose name begins with an underscore.
 */
static int find_choosers(const struct elf_file *elf, const struct names *names, struct common_hash_map *choosers)
{
	const size_t count = names->data ? names->data->d_size / gelf_fsize(elf->elf, ELF_T_SYM, 1, EV_CURRENT) : 0;
	int status = 0;

	for (uint64_t i = 1; status == 0 && i < count; i++) {
		GElf_Sym symbol, other;
		const char *name, *before;
		const uint64_t *known;

		if (!symbol_at(names, i, &symbol) || GELF_ST_TYPE(symbol.st_info) != STT_GNU_IFUNC ||
		    symbol.st_shndx == SHN_UNDEF)
			continue;
		name = name_at(elf, names, i, &symbol);
		if (!name)
			continue;
		known = common_hash_map_get(choosers, symbol.st_value);
		before = known ? name_at(elf, names, *known, &other) : NULL;
		if (!before || (*before == '_' && *name != '_'))
			status = common_hash_map_put(choosers, symbol.st_value, i);
	}
	return status;
}

struct plt {
	const struct elf_file *elf;
	struct elf_symbol_list *symbols;
	struct names dynamic;
	struct names full; /* table of the IFUNCs; the dynamic table if no full table exists */
	struct common_hash_map slots;
	struct common_hash_map choosers;
	struct elf_name_room room;
};

/* Returns the name of the function whose address the slot will hold, or NULL. */
static const char *name_of_slot(const struct plt *plt, uint64_t slot)
{
	const uint64_t *found = common_hash_map_get(&plt->slots, slot), *chooser;
	GElf_Sym symbol;

	if (!found)
		return NULL;
	if (!(*found & BY_ADDRESS))
		return name_at(plt->elf, &plt->dynamic, *found, &symbol);
	chooser = common_hash_map_get(&plt->choosers, *found & ~BY_ADDRESS);
	return chooser ? name_at(plt->elf, &plt->full, *chooser, &symbol) : NULL;
}

static int add_plt_name(struct plt *plt, const char *name, uint64_t address, uint64_t size)
{
	struct ptl_symbol symbol = {.address = address, .size = size, .type = 'P'};
	struct elf_symbol_list *symbols = plt->symbols;
	size_t fitting;

	if (!elf_symbol_list_wants(symbols, address))
		return 0;
	fitting = plt->room.cut ? elf_symbol_list_fit(symbols, strnlen(name, ELF_NAME_MAX), &plt->room) : 0;
	if (!fitting)
		return 0;
	/* Each name is a separate copy, as "@plt" is appended. */
	symbol.name = elf_symbol_list_name(symbols, name, fitting, "@plt");
	return symbol.name ? elf_symbol_list_add(symbols, &symbol) : PTL_NO_MEMORY;
}

/* Adds the entries of one PLT section. entry: size of an entry in bytes. */
static int add_plt_section(struct plt *plt, const char *section_name, size_t entry)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_section(plt->elf, SHT_PROGBITS, section_name, &header);
	Elf_Data *code = section && header.sh_size <= PLT_DATA_MAX ? elf_getdata(section, NULL) : NULL;
	int status = 0;

	if (!code || !code->d_buf)
		return 0;
	for (size_t at = 0; status == 0 && code->d_size - at >= entry; at += entry) {
		const uint64_t address = header.sh_addr + at;
		const char *name;
		uint64_t slot;

		if (!plt_slot((const uint8_t *)code->d_buf + at, entry, address, &slot))
			continue;
		name = name_of_slot(plt, slot);
		if (name)
			status = add_plt_name(plt, name, address, entry);
	}
	return status;
}

static int add_plt(struct elf_symbol_list *symbols, const struct elf_file *elf)
{
	/* With -z ibtplt, entries of .plt only push, and the jumps are in .plt.sec. */
	static const struct {
		const char *name;
		size_t entry;
	} sections[] = {
		{".plt", PLT_ENTRY_MAX}, {".plt.sec", PLT_ENTRY_MAX}, {".iplt", PLT_ENTRY_MAX}, {".plt.got", 8}};
	struct plt plt = {.elf = elf, .symbols = symbols};
	int status;

	if (elf->header.e_machine != EM_X86_64)
		return 0;
	plt.dynamic = open_names(elf, SHT_DYNSYM);
	plt.full = open_names(elf, SHT_SYMTAB);
	if (!plt.full.data)
		plt.full = plt.dynamic;
	plt.room = elf_name_room(UINT64_MAX);
	plt.room.whole += PLT_NAMES_MAX;
	status = find_slots(elf, &plt.slots);
	if (status == 0)
		status = find_choosers(elf, &plt.full, &plt.choosers);
	for (size_t i = 0; status == 0 && i < sizeof(sections) / sizeof(sections[0]); i++) {
		size_t entry = sections[i].entry;
		GElf_Shdr header;

		/*
		 * Entry sizes vary: .plt.got has 16 bytes if the entries of .plt begin with endbr64, and the .plt of a
		 * static program may have 8, visible only in the alignment.
		 */
		if (elf_section(elf, SHT_PROGBITS, sections[i].name, &header)) {
			const uint64_t size = header.sh_entsize ? header.sh_entsize : header.sh_addralign;

			entry = size == PLT_ENTRY_MAX || size == 8 ? (size_t)size : entry;
		}
		status = add_plt_section(&plt, sections[i].name, entry);
	}
	common_hash_map_free(&plt.slots);
	common_hash_map_free(&plt.choosers);
	return status;
}

/* Adds the symbols of MiniDebugInfo, which .dynsym lacks. Damaged MiniDebugInfo is ignored. */
static int add_mini(const struct elf_file *elf, struct elf_symbol_list *symbols)
{
	struct elf_file *mini;
	uint8_t *data;
	const size_t before = symbols->count;
	int status = elf_mini_open(elf, &mini, &data);

	if (status == 0 && mini)
		status = elf_add_table(mini, SHT_SYMTAB, symbols);
	elf_close(mini);
	free(data);
	if (status < 0)
		symbols->count = before;
	return status == PTL_NO_MEMORY ? status : 0;
}

int elf_functions(const struct elf_file *elf, const struct elf_file *debug, struct elf_symbol_list *symbols)
{
	const struct elf_file *full = debug && elf_has_symtab(debug) ? debug : elf;
	int status = elf_add_table(full, SHT_SYMTAB, symbols);

	if (status == 0 && !symbols->count) {
		status = add_mini(elf, symbols);
		if (status == 0)
			status = elf_add_table(elf, SHT_DYNSYM, symbols);
	}
	return status == 0 ? add_plt(symbols, elf) : status;
}

int elf_symbols(const struct elf_file *elf, const struct elf_file *debug, struct ptl_bytes *out)
{
	uint64_t cut;

	return elf_symbols_counted(elf, debug, out, &cut);
}

int elf_symbols_counted(const struct elf_file *elf, const struct elf_file *debug, struct ptl_bytes *out, uint64_t *cut)
{
	struct elf_symbol_list symbols = {0};
	const bool stripped = !elf_has_symtab(elf) && !(debug && elf_has_symtab(debug));
	int status = elf_functions(elf, debug, &symbols);

	if (status == 0 && stripped)
		status = elf_add_unwind_functions(elf, &symbols);
	if (status == 0 && symbols.count)
		status = ptl_symbols_encode(symbols.list, symbols.count, out);
	*cut = symbols.cut;
	elf_symbol_list_free(&symbols);
	return status;
}
