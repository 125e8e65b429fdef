/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that overlapping names in a string table take memory in proportion to the file, and that names with a common
 * end stay whole.
 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <ptl/symbols.h>

#include "elf/file.h"

#define SYMBOLS 20000u
#define STRINGS 65000u
#define CODE 0x400000u

enum { SECTION_NULL, SECTION_TEXT, SECTION_SYMBOLS, SECTION_STRINGS, SECTIONS };

/* Makes a file with these strings; symbol i has its name at offset_of(i). */
static int make_file(const char *strings, size_t size, unsigned count, uint32_t (*offset_of)(unsigned i))
{
	const Elf64_Off at = sizeof(Elf64_Ehdr) + SECTIONS * sizeof(Elf64_Shdr);
	const Elf64_Xword symbols_size = (count + 1) * sizeof(Elf64_Sym);
	const Elf64_Ehdr header = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_shoff = sizeof(Elf64_Ehdr),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTIONS,
		.e_shstrndx = SECTION_STRINGS,
	};
	const Elf64_Shdr sections[SECTIONS] = {
		[SECTION_TEXT] = {.sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_addr = CODE},
		[SECTION_SYMBOLS] = {.sh_type = SHT_SYMTAB,
				     .sh_offset = at,
				     .sh_size = symbols_size,
				     .sh_link = SECTION_STRINGS,
				     .sh_entsize = sizeof(Elf64_Sym)},
		[SECTION_STRINGS] = {.sh_type = SHT_STRTAB, .sh_offset = at + symbols_size, .sh_size = size},
	};
	Elf64_Sym symbol = {0};
	FILE *file = tmpfile();

	assert_non_null(file);
	assert_int_equal(fwrite(&header, sizeof(header), 1, file), 1);
	assert_int_equal(fwrite(sections, sizeof(sections), 1, file), 1);
	assert_int_equal(fwrite(&symbol, sizeof(symbol), 1, file), 1);
	for (unsigned i = 0; i < count; i++) {
		symbol = (Elf64_Sym){.st_name = offset_of(i),
				     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				     .st_shndx = SECTION_TEXT,
				     .st_value = CODE + 16 * i,
				     .st_size = 16};
		assert_int_equal(fwrite(&symbol, sizeof(symbol), 1, file), 1);
	}
	assert_int_equal(fwrite(strings, size, 1, file), 1);
	assert_int_equal(fflush(file), 0);
	return dup(fileno(file));
}

static struct ptl_symbol_table *read_symbols(int fd, size_t *size, uint64_t *cut)
{
	struct ptl_symbol_table *table;
	struct ptl_bytes encoded = {0};
	struct elf_file *elf;

	assert_int_equal(elf_open(fd, &elf), 0);
	assert_int_equal(elf_symbols_counted(elf, NULL, &encoded, cut), 0);
	assert_int_equal(ptl_symbols_decode(encoded.data, encoded.size, &table), 0);
	*size = encoded.size;
	common_bytes_free(&encoded);
	elf_close(elf);
	close(fd);
	return table;
}

static uint32_t next_offset(unsigned i)
{
	return 1 + i;
}

static uint32_t first_offset(unsigned i)
{
	(void)i;
	return 1;
}

static void long_names(uint32_t (*offset_of)(unsigned i))
{
	struct ptl_symbol_table *table;
	char *strings = malloc(STRINGS);
	uint64_t cut;
	size_t size;

	assert_non_null(strings);
	/* Names have no common beginnings, so that the encoding shares nothing. */
	for (unsigned i = 1; i + 1 < STRINGS; i++)
		strings[i] = (char)('a' + (i * i / 7 + i) % 26);
	strings[0] = strings[STRINGS - 1] = 0;
	table = read_symbols(make_file(strings, STRINGS, SYMBOLS, offset_of), &size, &cut);
	assert_int_equal(ptl_symbols_count(table), SYMBOLS);
	assert_true(cut > SYMBOLS / 2);
	assert_true(size < 150 * SYMBOLS + 3 * STRINGS);
	ptl_symbols_free(table);
	free(strings);
}

static void overlapping_names_are_cut(void **state)
{
	(void)state;
	long_names(next_offset);
}

static void a_long_name_of_many_is_cut(void **state)
{
	(void)state;
	long_names(first_offset);
}

static const char merged[] = "\0read_all\0write_all_bytes";

static uint32_t merged_offset(unsigned i)
{
	static const uint32_t offsets[] = {1, 6, 10, 16, 20, 1};

	return offsets[i];
}

/* Linkers share string ends: "all" inside "read_all". */
static void names_that_end_alike_are_whole(void **state)
{
	static const char *const names[] = {"read_all", "all", "write_all_bytes", "all_bytes", "bytes", "read_all"};
	struct ptl_symbol_table *table;
	uint64_t cut;
	size_t size;

	(void)state;
	table = read_symbols(make_file(merged, sizeof(merged), 6, merged_offset), &size, &cut);
	assert_int_equal(cut, 0);
	assert_int_equal(ptl_symbols_count(table), 6);
	for (unsigned i = 0; i < 6; i++)
		assert_string_equal(ptl_symbols_find(table, CODE + 16 * i).name, names[i]);
	ptl_symbols_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overlapping_names_are_cut),
		cmocka_unit_test(a_long_name_of_many_is_cut),
		cmocka_unit_test(names_that_end_alike_are_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
