/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests units of .debug_info that overlap, have no addresses, or were removed by the linker. */
#include <dwarf.h>
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/bytes.h"
#include "flow/symbol/unit_map.h"

#define CODE 0x1000
#define CODE_SIZE 0x1000

/* Numbers of the abbreviations below. */
enum { WITH_ADDRESS = 1, WITHOUT_ADDRESS, PARTIAL };

static const char abbreviations[] = {WITH_ADDRESS,
				     DW_TAG_compile_unit,
				     0,
				     DW_AT_low_pc,
				     DW_FORM_addr,
				     DW_AT_high_pc,
				     DW_FORM_data4,
				     0,
				     0,
				     WITHOUT_ADDRESS,
				     DW_TAG_compile_unit,
				     0,
				     0,
				     0,
				     PARTIAL,
				     DW_TAG_partial_unit,
				     0,
				     0,
				     0,
				     0};

static void put_unit(struct ptl_bytes *info, int kind, uint64_t first, uint32_t size)
{
	common_write_le(info, 2 + 4 + 1 + 1 + (kind == WITH_ADDRESS ? 12 : 0), 4);
	common_write_le(info, 4, 2);
	common_write_le(info, 0, 4);
	common_write_le(info, 8, 1);
	common_write_le(info, (uint64_t)kind, 1);
	if (kind != WITH_ADDRESS)
		return;
	common_write_le(info, first, 8);
	common_write_le(info, size, 4);
}

/* Writes a section header; the section's bytes follow the headers and all earlier sections. */
static void put_section(struct ptl_bytes *file, size_t name, uint32_t type, size_t *at, size_t size)
{
	const Elf64_Shdr header = {
		.sh_name = (Elf64_Word)name, .sh_type = type, .sh_offset = *at, .sh_size = size, .sh_addralign = 1};

	common_write_bytes(file, &header, sizeof(header));
	*at += size;
}

/* Makes the map of a file with these units and some code; afterwards the map does not need the file. */
static void make(const struct ptl_bytes *info, struct flow_unit_map *map)
{
	static const char names[] = "\0.names\0.debug_info\0.debug_abbrev\0.text";
	static const Elf64_Shdr text = {.sh_name = 34,
					.sh_type = SHT_NOBITS,
					.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
					.sh_addr = CODE,
					.sh_size = CODE_SIZE,
					.sh_addralign = 1};
	const Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
				   .e_type = ET_EXEC,
				   .e_machine = EM_X86_64,
				   .e_version = EV_CURRENT,
				   .e_ehsize = sizeof(Elf64_Ehdr),
				   .e_shoff = sizeof(Elf64_Ehdr),
				   .e_shentsize = sizeof(Elf64_Shdr),
				   .e_shnum = 5,
				   .e_shstrndx = 1};
	size_t at = sizeof(header) + header.e_shnum * sizeof(Elf64_Shdr);
	struct ptl_bytes file = {0};
	Dwarf *dwarf;
	Elf *elf;

	common_write_bytes(&file, &header, sizeof(header));
	common_write_bytes(&file, &(Elf64_Shdr){0}, sizeof(Elf64_Shdr));
	put_section(&file, 1, SHT_STRTAB, &at, sizeof(names));
	put_section(&file, 8, SHT_PROGBITS, &at, info->size);
	put_section(&file, 20, SHT_PROGBITS, &at, sizeof(abbreviations));
	common_write_bytes(&file, &text, sizeof(text));
	common_write_bytes(&file, names, sizeof(names));
	common_write_bytes(&file, info->data, info->size);
	common_write_bytes(&file, abbreviations, sizeof(abbreviations));
	assert_false(file.failed);
	elf_version(EV_CURRENT);
	elf = elf_memory((char *)file.data, file.size);
	assert_non_null(elf);
	dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	assert_non_null(dwarf);
	assert_true(flow_unit_map_make(dwarf, map));
	dwarf_end(dwarf);
	elf_end(elf);
	common_bytes_free(&file);
}

/* Returns the units of an address as bits. */
static unsigned units_at(const struct flow_unit_map *map, uint64_t address)
{
	const struct flow_unit_cluster *cluster = flow_unit_map_find(map, address);
	unsigned units = 0;

	for (size_t i = 0; cluster && i < cluster->extent_count; i++)
		units |= 1u << map->extents[cluster->extent + i].unit;
	return units;
}

static void tells_units_of_addresses(void **state)
{
	struct ptl_bytes info = {0};
	struct flow_unit_map map;

	(void)state;
	put_unit(&info, WITH_ADDRESS, 0x1100, 0x10); /* 0 */
	put_unit(&info, PARTIAL, 0, 0);
	put_unit(&info, WITH_ADDRESS, 0, 0x1200);    /* removed code */
	put_unit(&info, WITHOUT_ADDRESS, 0, 0);      /* 1 */
	put_unit(&info, WITH_ADDRESS, 0x1110, 0x20); /* 2 */
	put_unit(&info, WITH_ADDRESS, 0x1120, 0x40); /* 3: begins inside 2 */
	put_unit(&info, WITH_ADDRESS, 0x1124, 4);    /* 4: begins inside 2, too */
	make(&info, &map);
	assert_int_equal(map.unit_count, 5);
	assert_false(map.split);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(map.units[i].anywhere, i == 1);
	assert_int_equal(map.cluster_count, 2);
	assert_int_equal(units_at(&map, 0), 0);
	assert_int_equal(units_at(&map, 0x10ff), 0);
	assert_int_equal(units_at(&map, 0x1100), 1 << 0);
	assert_int_equal(units_at(&map, 0x110f), 1 << 0);
	assert_int_equal(units_at(&map, 0x1110), 1 << 2 | 1 << 3 | 1 << 4);
	assert_int_equal(units_at(&map, 0x115f), 1 << 2 | 1 << 3 | 1 << 4);
	assert_int_equal(units_at(&map, 0x1160), 0);
	flow_unit_map_free(&map);
	common_bytes_free(&info);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_units_of_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
