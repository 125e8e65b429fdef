/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Function names out of ELF files: symbol tables, and PLT entries by the relocations of their
 * slots.
 */
#include <stdlib.h>
#include <string.h>

#include <ptl/symbols.h>

#include "common/error.h"
#include "common/hash_map.h"
#include "elf/state.h"

#define PLT_ENTRY_MAX 16

/* Symbols as they are gathered. Names of PLT entries are made here; all others belong to libelf. */
struct symbols {
	struct ptl_symbol *list;
	size_t count;
	size_t capacity;
	char **made;
	size_t made_count;
	size_t made_capacity;
	uint8_t *executable; /* by section index: it holds code */
	size_t sections;
};

static int grow(void **list, size_t count, size_t *capacity, size_t size)
{
	size_t wanted = *capacity ? *capacity * 2 : 64;
	void *larger;

	if (count < *capacity)
		return 0;
	larger = reallocarray(*list, wanted, size);
	if (!larger)
		return ptl_fail_memory("symbols", wanted * size);
	*list = larger;
	*capacity = wanted;
	return 0;
}

static int add(struct symbols *symbols, const struct ptl_symbol *symbol)
{
	int status = grow((void **)&symbols->list, symbols->count, &symbols->capacity,
			  sizeof(*symbols->list));

	if (status < 0)
		return status;
	symbols->list[symbols->count++] = *symbol;
	return 0;
}

static void free_symbols(struct symbols *symbols)
{
	for (size_t i = 0; i < symbols->made_count; i++)
		free(symbols->made[i]);
	free(symbols->made);
	free(symbols->list);
	free(symbols->executable);
	*symbols = (struct symbols){0};
}

/* Notes which sections hold code, so that a label without a type counts only there. */
static int find_code(struct symbols *symbols, const struct ptl_elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	free(symbols->executable);
	symbols->sections = elf->sections;
	symbols->executable = calloc(elf->sections ? elf->sections : 1, 1);
	if (!symbols->executable)
		return ptl_fail_memory("sections", elf->sections);
	while ((section = elf_nextscn(elf->elf, section))) {
		const size_t index = elf_ndxscn(section);

		if (index < elf->sections && gelf_getshdr(section, &header))
			symbols->executable[index] = (header.sh_flags & SHF_EXECINSTR) != 0;
	}
	return 0;
}

/* The letter of ptl/symbols.h, or 0 for what names no code. */
static uint8_t letter_of(const struct symbols *symbols, const GElf_Sym *symbol)
{
	const unsigned type = GELF_ST_TYPE(symbol->st_info), bind = GELF_ST_BIND(symbol->st_info);

	if (symbol->st_shndx == SHN_UNDEF)
		return 0;
	if (type == STT_GNU_IFUNC)
		return 'i';
	if (type != STT_FUNC && !(type == STT_NOTYPE && symbol->st_shndx < symbols->sections &&
				  symbols->executable[symbol->st_shndx]))
		return 0;
	return bind == STB_LOCAL ? 't' : bind == STB_WEAK ? 'W' : 'T';
}

static int add_table(struct symbols *symbols, const struct ptl_elf *elf, uint32_t type)
{
	GElf_Shdr header;
	Elf_Scn *section = ptl_elf_section(elf, type, NULL, &header);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	const size_t entry = gelf_fsize(elf->elf, ELF_T_SYM, 1, EV_CURRENT);
	int status;

	if (!section)
		return 0;
	if (!data || !entry)
		return ptl_elf_failure("symbol table");
	status = find_code(symbols, elf);
	/* libelf takes an int for the index. */
	for (size_t i = 1; status == 0 && i < data->d_size / entry && i < INT32_MAX; i++) {
		struct ptl_symbol symbol = {0};
		GElf_Sym found;

		if (!gelf_getsym(data, (int)i, &found))
			return ptl_elf_failure("symbol");
		symbol.type = letter_of(symbols, &found);
		symbol.name = symbol.type ? elf_strptr(elf->elf, header.sh_link, found.st_name)
					  : NULL;
		if (!symbol.name || !*symbol.name)
			continue;
		symbol.address = found.st_value;
		symbol.size = found.st_size;
		status = add(symbols, &symbol);
	}
	return status;
}

/* Maps the address of each GOT slot to the dynamic symbol whose address it will hold. */
static int find_slots(const struct ptl_elf *elf, struct ptl_hash_map *slots)
{
	const size_t entry = gelf_fsize(elf->elf, ELF_T_RELA, 1, EV_CURRENT);
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	int status = 0;

	while (status == 0 && (section = elf_nextscn(elf->elf, section))) {
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA)
			continue;
		data = elf_getdata(section, NULL);
		for (size_t i = 0; data && status == 0 && i < data->d_size / entry && i < INT32_MAX;
		     i++) {
			GElf_Rela rela;
			uint64_t type;

			if (!gelf_getrela(data, (int)i, &rela))
				break;
			type = GELF_R_TYPE(rela.r_info);
			if (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT)
				status = ptl_hash_map_put(slots, rela.r_offset,
							  GELF_R_SYM(rela.r_info));
		}
	}
	return status;
}

/* In code of one PLT entry: the GOT slot that its jmp *disp(%rip) goes through. */
static bool plt_slot(const uint8_t *code, size_t size, uint64_t address, uint64_t *slot)
{
	for (size_t i = 0; i + 6 <= size; i++) {
		if (code[i] != 0xff || code[i + 1] != 0x25)
			continue;
		*slot = address + i + 6 + (uint64_t)(int64_t)(int32_t)ptl_load32(code + i + 2);
		return true;
	}
	return false;
}

static int add_plt_name(struct symbols *symbols, const char *name, uint64_t address, uint64_t size)
{
	struct ptl_symbol symbol = {.address = address, .size = size, .type = 'P'};
	int status = grow((void **)&symbols->made, symbols->made_count, &symbols->made_capacity,
			  sizeof(*symbols->made));
	const size_t length = strlen(name);
	char *made;

	if (status < 0)
		return status;
	made = malloc(length + sizeof("@plt"));
	if (!made)
		return ptl_fail_memory("symbol", length);
	memcpy(made, name, length);
	memcpy(made + length, "@plt", sizeof("@plt"));
	symbols->made[symbols->made_count++] = made;
	symbol.name = made;
	return add(symbols, &symbol);
}

/* The entries of one PLT section; `entry` is the size of each. */
static int add_plt_section(struct symbols *symbols, const struct ptl_elf *elf, const char *name,
			   size_t entry, const struct ptl_hash_map *slots)
{
	GElf_Shdr plt, dynamic;
	Elf_Scn *section = ptl_elf_section(elf, SHT_PROGBITS, name, &plt);
	Elf_Scn *table = ptl_elf_section(elf, SHT_DYNSYM, NULL, &dynamic);
	Elf_Data *code = section ? elf_getdata(section, NULL) : NULL;
	Elf_Data *data = table ? elf_getdata(table, NULL) : NULL;
	int status = 0;

	if (!code || !code->d_buf || !data)
		return 0;
	for (size_t at = 0; status == 0 && code->d_size - at >= entry; at += entry) {
		const uint64_t address = plt.sh_addr + at;
		const uint64_t *index;
		const char *symbol;
		uint64_t slot;
		GElf_Sym found;

		if (!plt_slot((const uint8_t *)code->d_buf + at, entry, address, &slot))
			continue;
		index = ptl_hash_map_get(slots, slot);
		if (!index || *index > INT32_MAX || !gelf_getsym(data, (int)*index, &found))
			continue;
		symbol = elf_strptr(elf->elf, dynamic.sh_link, found.st_name);
		if (symbol && *symbol)
			status = add_plt_name(symbols, symbol, address, entry);
	}
	return status;
}

static int add_plt(struct symbols *symbols, const struct ptl_elf *elf)
{
	/* With -z ibtplt .plt only pushes, and the jump is in .plt.sec. */
	static const struct {
		const char *name;
		size_t entry;
	} sections[] = {{".plt", PLT_ENTRY_MAX}, {".plt.sec", PLT_ENTRY_MAX}, {".plt.got", 8}};
	struct ptl_hash_map slots = {0};
	int status;

	if (elf->header.e_machine != EM_X86_64)
		return 0;
	status = find_slots(elf, &slots);
	for (size_t i = 0; status == 0 && i < sizeof(sections) / sizeof(sections[0]); i++) {
		size_t entry = sections[i].entry;
		GElf_Shdr header;

		/* .plt.got has entries of 16 bytes where those of .plt begin with endbr64. */
		if (entry == 8 &&
		    ptl_elf_section(elf, SHT_PROGBITS, sections[i].name, &header) &&
		    header.sh_entsize == PLT_ENTRY_MAX)
			entry = PLT_ENTRY_MAX;
		status = add_plt_section(symbols, elf, sections[i].name, entry, &slots);
	}
	ptl_hash_map_free(&slots);
	return status;
}

int ptl_elf_symbols(const struct ptl_elf *elf, const struct ptl_elf *debug,
		       struct ptl_bytes *out)
{
	const struct ptl_elf *full = debug && ptl_elf_has_symtab(debug) ? debug : elf;
	struct symbols symbols = {0};
	int status = add_table(&symbols, full, SHT_SYMTAB);

	if (status == 0 && !symbols.count)
		status = add_table(&symbols, elf, SHT_DYNSYM);
	if (status == 0)
		status = add_plt(&symbols, elf);
	if (status == 0 && symbols.count)
		status = ptl_symbols_encode(symbols.list, symbols.count, out);
	free_symbols(&symbols);
	return status;
}
