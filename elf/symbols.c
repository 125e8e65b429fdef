/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Function names out of ELF files: what the symbol tables say, and PLT entries by the relocations of their slots.
 */
#include <stdlib.h>
#include <string.h>

#include <ptl/symbols.h>

#include "common/error.h"
#include "common/hash_map.h"
#include "elf/state.h"

#define PLT_ENTRY_MAX 16
#define PLT_DATA_MAX ((uint64_t)32 << 20) /* of each section that tells of the PLT; it has no names beyond */

/* Maps the address of each GOT slot to the dynamic symbol whose address it will hold. */
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
		*slot = address + i + 6 + (uint64_t)(int64_t)(int32_t)common_load32(code + i + 2);
		return true;
	}
	return false;
}

static int add_plt_name(struct elf_symbol_list *symbols, const char *name, uint64_t address, uint64_t size)
{
	struct ptl_symbol symbol = {.address = address, .size = size, .type = 'P'};

	if (!elf_symbol_list_wants(symbols, address))
		return 0;
	symbol.name = elf_symbol_list_name(symbols, name, strlen(name), "@plt");
	return symbol.name ? elf_symbol_list_add(symbols, &symbol) : PTL_NO_MEMORY;
}

/* The entries of one PLT section; `entry` is the size of each. */
static int add_plt_section(struct elf_symbol_list *symbols, const struct elf_file *elf, const char *name, size_t entry,
			   const struct common_hash_map *slots)
{
	GElf_Shdr plt, dynamic;
	Elf_Scn *section = elf_section(elf, SHT_PROGBITS, name, &plt);
	Elf_Scn *table = elf_section(elf, SHT_DYNSYM, NULL, &dynamic);
	Elf_Data *code = section && plt.sh_size <= PLT_DATA_MAX ? elf_getdata(section, NULL) : NULL;
	Elf_Data *data = table && dynamic.sh_size <= PLT_DATA_MAX ? elf_getdata(table, NULL) : NULL;
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
		index = common_hash_map_get(slots, slot);
		if (!index || *index > INT32_MAX || !gelf_getsym(data, (int)*index, &found))
			continue;
		symbol = elf_strptr(elf->elf, dynamic.sh_link, found.st_name);
		if (symbol && *symbol)
			status = add_plt_name(symbols, symbol, address, entry);
	}
	return status;
}

static int add_plt(struct elf_symbol_list *symbols, const struct elf_file *elf)
{
	/* With -z ibtplt .plt only pushes, and the jump is in .plt.sec. */
	static const struct {
		const char *name;
		size_t entry;
	} sections[] = {{".plt", PLT_ENTRY_MAX}, {".plt.sec", PLT_ENTRY_MAX}, {".plt.got", 8}};
	struct common_hash_map slots = {0};
	int status;

	if (elf->header.e_machine != EM_X86_64)
		return 0;
	status = find_slots(elf, &slots);
	for (size_t i = 0; status == 0 && i < sizeof(sections) / sizeof(sections[0]); i++) {
		size_t entry = sections[i].entry;
		GElf_Shdr header;

		/* .plt.got has entries of 16 bytes where those of .plt begin with endbr64. */
		if (entry == 8 && elf_section(elf, SHT_PROGBITS, sections[i].name, &header) &&
		    header.sh_entsize == PLT_ENTRY_MAX)
			entry = PLT_ENTRY_MAX;
		status = add_plt_section(symbols, elf, sections[i].name, entry, &slots);
	}
	common_hash_map_free(&slots);
	return status;
}

int elf_functions(const struct elf_file *elf, const struct elf_file *debug, struct elf_symbol_list *symbols)
{
	const struct elf_file *full = debug && elf_has_symtab(debug) ? debug : elf;
	int status = elf_add_table(full, SHT_SYMTAB, symbols);

	if (status == 0 && !symbols->count)
		status = elf_add_table(elf, SHT_DYNSYM, symbols);
	return status == 0 ? add_plt(symbols, elf) : status;
}

int elf_symbols(const struct elf_file *elf, const struct elf_file *debug, struct ptl_bytes *out)
{
	struct elf_symbol_list symbols = {0};
	int status = elf_functions(elf, debug, &symbols);

	if (status == 0 && symbols.count)
		status = ptl_symbols_encode(symbols.list, symbols.count, out);
	elf_symbol_list_free(&symbols);
	return status;
}
