/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests rare or invalid line programs, built here byte by byte. */
#include <dwarf.h>
#include <elf.h>
#include <libelf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/bytes.h"
#include "flow/symbol/line_table.h"

#define LINES 2 /* sections */
#define NAMES 3

/* ---- making them --------------------------------------------------------------------------------- */

static void put(struct ptl_bytes *bytes, uint64_t value, size_t size)
{
	common_write_le(bytes, value, size);
}

/*
 * Writes a unit with the program, of DWARF 5 or 4, with offsets of 4 or 8 bytes. Folder /build; files from 1: one.c,
 * sub/two.c and /abs.c.
 */
static void put_unit(struct ptl_bytes *lines, unsigned version, size_t offset, const struct ptl_bytes *program)
{
	struct ptl_bytes names = {0};

	put(&names, 1, 1); /* minimum instruction length */
	put(&names, 1, 1); /* maximum operations per instruction */
	put(&names, 1, 1);
	put(&names, (uint8_t)-5, 1);
	put(&names, 14, 1);
	put(&names, 10, 1); /* opcode base: the last three standard opcodes do not exist here */
	common_write_bytes(&names, "\0\1\1\1\1\0\0\0\1", 9);
	if (version == 5) {
		common_write_bytes(&names, "\1\1\x1f\2", 4); /* paths, of .debug_line_str */
		put(&names, 0, offset);
		put(&names, 7, offset);
		common_write_bytes(&names, "\2\1\x08\2\x0b\4", 6); /* paths as texts, and folders */
		common_write_bytes(&names, "zero.c\0\0one.c\0\0two.c\0\1/abs.c\0\0", 30);
	} else {
		common_write_bytes(&names, "sub\0\0", 5);
		common_write_bytes(&names, "one.c\0\0\0\0two.c\0\1\0\0/abs.c\0\0\0\0\0", 29);
	}
	if (offset == 8)
		put(lines, UINT32_MAX, 4);
	put(lines, 2 + (version == 5 ? 2 : 0) + offset + names.size + program->size, offset);
	put(lines, version, 2);
	if (version == 5)
		put(lines, 8, 2);
	put(lines, names.size, offset);
	common_write_bytes(lines, names.data, names.size);
	common_write_bytes(lines, program->data, program->size);
	common_bytes_free(&names);
}

static void set_address(struct ptl_bytes *program, uint64_t address)
{
	common_write_bytes(program, "\0\x09\x02", 3);
	put(program, address, 8);
}

/* Adds a row of this file and line for `size` bytes. */
static void row(struct ptl_bytes *program, int file, int lines, unsigned size)
{
	put(program, DW_LNS_set_file, 1);
	put(program, (uint64_t)file, 1);
	put(program, DW_LNS_advance_line, 1);
	put(program, (uint64_t)lines & 0x7f, 1);
	put(program, DW_LNS_copy, 1);
	put(program, DW_LNS_fixed_advance_pc, 1);
	put(program, size, 2);
}

static void end(struct ptl_bytes *program)
{
	common_write_bytes(program, "\0\1\1", 3);
}

static void put_section(struct ptl_bytes *file, unsigned number, size_t name, size_t from, size_t size)
{
	const Elf64_Shdr header = {.sh_name = (Elf64_Word)name,
				   .sh_type = number == 1 ? SHT_STRTAB : SHT_PROGBITS,
				   .sh_offset = from,
				   .sh_size = size,
				   .sh_addralign = 1};

	common_write_bytes(file, &header, sizeof(header));
}

/*
 * Makes the table of an ELF file with these lines and optionally a section and a segment of code. Returns NULL for an
 * empty table.
 */
static struct flow_line_table *make_with_code(struct ptl_bytes *lines, const Elf64_Shdr *text,
					      const Elf64_Phdr *segment)
{
	static const char names[] = "\0.names\0.debug_line\0.debug_line_str", folders[] = "/build\0sub";
	const Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
				   .e_type = ET_EXEC,
				   .e_machine = EM_X86_64,
				   .e_version = EV_CURRENT,
				   .e_ehsize = sizeof(Elf64_Ehdr),
				   .e_phoff = sizeof(Elf64_Ehdr),
				   .e_phentsize = sizeof(Elf64_Phdr),
				   .e_phnum = 1,
				   .e_shoff = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr),
				   .e_shentsize = sizeof(Elf64_Shdr),
				   .e_shnum = 5,
				   .e_shstrndx = 1};
	size_t at = header.e_shoff + header.e_shnum * sizeof(Elf64_Shdr);
	struct ptl_bytes file = {0};
	struct flow_line_table *table;
	Elf *elf;

	common_write_bytes(&file, &header, sizeof(header));
	common_write_bytes(&file, segment, sizeof(*segment));
	common_write_bytes(&file, &(Elf64_Shdr){0}, sizeof(Elf64_Shdr));
	put_section(&file, 1, 1, at, sizeof(names));
	at += sizeof(names);
	put_section(&file, LINES, 8, at, lines->size);
	at += lines->size;
	put_section(&file, NAMES, 20, at, sizeof(folders));
	common_write_bytes(&file, text, sizeof(*text));
	common_write_bytes(&file, names, sizeof(names));
	common_write_bytes(&file, lines->data, lines->size);
	common_write_bytes(&file, folders, sizeof(folders));
	assert_false(file.failed);
	elf_version(EV_CURRENT);
	elf = elf_memory((char *)file.data, file.size);
	assert_non_null(elf);
	table = flow_lines_make(elf);
	elf_end(elf);
	common_bytes_free(&file);
	lines->size = 0;
	return table;
}

static struct flow_line_table *make(struct ptl_bytes *lines)
{
	return make_with_code(lines, &(Elf64_Shdr){0}, &(Elf64_Phdr){0});
}

/* Expects "file:line", "file:line.discriminator", or "" for an unknown address. */
static void expect(struct flow_line_table *table, uint64_t address, const char *expected)
{
	char text[128] = "";
	struct flow_line line;

	if (flow_lines_find(table, address, &line))
		snprintf(text, sizeof(text), line.discriminator ? "%s:%u.%u" : "%s:%u", line.file, line.line,
			 line.discriminator);
	assert_string_equal(text, expected);
}

static int add_line(void *context, uint64_t first, uint64_t end_address, const char *file, uint32_t line)
{
	char *text = context;

	(void)file;
	snprintf(text + strlen(text), 256 - strlen(text), "%llx-%llx:%u ", (unsigned long long)first,
		 (unsigned long long)end_address, line);
	return 0;
}

static void expect_walk(struct flow_line_table *table, const char *expected)
{
	char text[256] = "";

	assert_int_equal(flow_lines_walk(table, add_line, text), 0);
	assert_string_equal(text, expected);
}

/* ---- tests --------------------------------------------------------------------------------------- */

/* Reads names and rows of every encoding. */
static void reads_units(void **state)
{
	static const struct {
		unsigned version;
		size_t offset;
		const char *one, *two;
	} ways[] = {{5, 4, "/build/one.c:10", "/build/sub/two.c:12"},
		    {5, 8, "/build/one.c:10", "/build/sub/two.c:12"},
		    {4, 4, "one.c:10", "sub/two.c:12"},
		    {4, 8, "one.c:10", "sub/two.c:12"}};
	struct ptl_bytes lines = {0}, program = {0};

	(void)state;
	set_address(&program, 0x1000);
	row(&program, 1, 9, 4);
	row(&program, 2, 2, 4);
	row(&program, 3, 1, 4);
	row(&program, 9, 1, 4);   /* file does not exist */
	row(&program, 1, -14, 4); /* line 0 */
	row(&program, 1, 6, 0);   /* empty range */
	row(&program, 1, 1, 4);
	put(&program, 10 + 14 * 2 + 5 + 1, 1); /* a special opcode: 2 bytes and a line further */
	put(&program, DW_LNS_const_add_pc, 1); /* 17 bytes */
	end(&program);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct flow_line_table *table;

		put_unit(&lines, ways[i].version, ways[i].offset, &program);
		table = make(&lines);
		assert_non_null(table);
		assert_int_equal(flow_lines_need_folders(table), ways[i].version < 5);
		expect(table, 0xfff, "");
		expect(table, 0x1000, ways[i].one);
		expect(table, 0x1003, ways[i].one);
		expect(table, 0x1004, ways[i].two);
		expect(table, 0x1008, "/abs.c:13");
		expect(table, 0x100c, "");
		expect(table, 0x1010, "");
		assert_true(flow_lines_begins(table, 0x1014, 6));
		assert_false(flow_lines_begins(table, 0x1014, 7));
		assert_false(flow_lines_begins(table, 0x1015, 7));
		expect_walk(table, "1000-1004:10 1004-1008:12 1008-100c:13 1014-101a:7 101a-102b:8 ");
		expect(table, 0x102a, i < 2 ? "/build/one.c:8" : "one.c:8");
		expect(table, 0x102b, "");
		flow_lines_free(table);
	}
	common_bytes_free(&program);
	common_bytes_free(&lines);
}

/* An empty sequence does not affect code behind it or at its address. */
/* A discriminator belongs to the next row only. A discriminator without an end is damage. */
static void reads_discriminators(void **state)
{
	struct ptl_bytes lines = {0}, program = {0};
	struct flow_line_table *table;

	(void)state;
	set_address(&program, 0x1000);
	common_write_bytes(&program, "\0\3\4\x81\3", 5); /* 0x181 */
	row(&program, 1, 9, 4);
	row(&program, 1, 0, 4);
	common_write_bytes(&program, "\0\2\4\2", 4);
	row(&program, 1, 0, 4);
	end(&program);
	put_unit(&lines, 5, 4, &program);
	program.size = 0;
	set_address(&program, 0x2000);
	common_write_bytes(&program, "\0\2\4\x81", 4);
	row(&program, 1, 9, 4);
	end(&program);
	put_unit(&lines, 5, 4, &program);
	table = make(&lines);
	assert_non_null(table);
	expect(table, 0x1000, "/build/one.c:10.385");
	expect(table, 0x1004, "/build/one.c:10");
	expect(table, 0x1008, "/build/one.c:10.2");
	expect(table, 0x2000, "");
	flow_lines_free(table);
	common_bytes_free(&lines);
	common_bytes_free(&program);
}

static void leaves_out_empty_sequences(void **state)
{
	struct ptl_bytes lines = {0}, program = {0};
	struct flow_line_table *table;

	(void)state;
	set_address(&program, 0x1000);
	row(&program, 1, 9, 8);
	row(&program, 1, 1, 0); /* line 11, behind all code */
	end(&program);
	set_address(&program, 0x2000);
	row(&program, 1, 4, 0);
	end(&program);
	set_address(&program, 0x1008);
	row(&program, 1, 19, 8);
	end(&program);
	put_unit(&lines, 5, 4, &program);
	table = make(&lines);
	assert_non_null(table);
	assert_true(flow_lines_begins(table, 0x1008, 20));
	expect(table, 0x1008, "/build/one.c:20");
	expect(table, 0x2000, "");
	expect_walk(table, "1000-1008:10 1008-1010:20 ");
	flow_lines_free(table);

	/* The table has no other sequence. */
	program.size = 0;
	set_address(&program, 0x2000);
	row(&program, 1, 4, 0);
	end(&program);
	put_unit(&lines, 5, 4, &program);
	assert_null(make(&lines));
	common_bytes_free(&program);
	common_bytes_free(&lines);
}

/* A linker moves lines of removed code to address 0, possibly over other code. */
static void tells_overlapping_code_apart(void **state)
{
	struct ptl_bytes lines = {0}, program = {0};
	struct flow_line_table *table;

	(void)state;
	set_address(&program, 0);
	row(&program, 1, 1, 0x1004); /* line 2 */
	row(&program, 1, 1, 0x100c); /* line 3, from 1004 to 2010 */
	end(&program);
	set_address(&program, 0x1000);
	row(&program, 1, 9, 8); /* line 10, up to 1008 */
	end(&program);
	set_address(&program, 0x2000);
	row(&program, 1, 19, 0x20); /* line 20, beyond the end of the other sequence */
	end(&program);
	put_unit(&lines, 5, 4, &program);
	table = make(&lines);
	assert_non_null(table);
	expect(table, 0xfff, "/build/one.c:2");
	expect(table, 0x1004, "/build/one.c:10");
	expect(table, 0x1008, "/build/one.c:3");
	expect(table, 0x2010, "/build/one.c:20");
	expect(table, 0x2020, "");
	expect_walk(table, "0-1000:2 1000-1008:10 1008-2000:3 2000-2020:20 ");
	flow_lines_free(table);
	common_bytes_free(&program);
	common_bytes_free(&lines);
}

/* If code ranges are known, lines outside are dropped: at 0, and at the addresses that linkers use for removed code. */
static void leaves_out_what_is_no_code(void **state)
{
	static const Elf64_Shdr text = {
		.sh_type = SHT_NOBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_addr = 0x1000, .sh_size = 8};
	/* Segments are ignored if there is a section. */
	static const Elf64_Phdr segments[] = {
		{.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_memsz = 0x2000},
		{.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = 0x1000, .p_memsz = 8}};
	struct ptl_bytes lines = {0}, program = {0};

	(void)state;
	set_address(&program, 0);
	row(&program, 1, 1, 0x1004); /* line 2 */
	end(&program);
	set_address(&program, UINT64_MAX);
	row(&program, 1, 2, 0x1004); /* line 3, which wraps to address 0 */
	end(&program);
	set_address(&program, 0x1000);
	row(&program, 1, 9, 4); /* line 10 */
	end(&program);
	set_address(&program, 0x1008);
	row(&program, 1, 19, 8);
	end(&program);
	for (size_t i = 0; i < 2; i++) {
		struct flow_line_table *table;

		put_unit(&lines, 5, 4, &program);
		table = make_with_code(&lines, i ? &(Elf64_Shdr){0} : &text, &segments[i]);
		assert_non_null(table);
		expect(table, 0, "");
		expect(table, 0x1000, "/build/one.c:10");
		expect(table, 0x1004, "");
		expect(table, 0x1008, "");
		expect_walk(table, "1000-1004:10 ");
		flow_lines_free(table);
	}
	common_bytes_free(&program);
	common_bytes_free(&lines);
}

/* A damaged or unknown unit does not affect other units. */
static void passes_damaged_units(void **state)
{
	struct ptl_bytes lines = {0}, program = {0}, bad = {0};
	struct flow_line_table *table;

	(void)state;
	set_address(&program, 0x1000);
	row(&program, 1, 9, 8);
	end(&program);
	set_address(&bad, 0x1000);
	row(&bad, 1, 1, 8);
	common_write_bytes(&bad, "\0\x7f\1", 3); /* an opcode beyond the end of the unit */
	put_unit(&lines, 5, 4, &bad);
	put_unit(&lines, 6, 4, &program);
	put(&lines, 0, 8);
	bad.size = 0;
	set_address(&bad, 0x1000);
	row(&bad, 1, 2, 8);
	put(&bad, DW_LNS_advance_pc, 1); /* the operand is missing */
	put_unit(&lines, 4, 4, &bad);
	put_unit(&lines, 5, 4, &program);
	table = make(&lines);
	assert_non_null(table);
	expect(table, 0x1000, "/build/one.c:10");
	flow_lines_free(table);

	put_unit(&lines, 5, 4, &bad);
	assert_null(make(&lines));
	put_unit(&lines, 5, 4, &program);
	lines.data[0]++; /* the unit ends behind the section */
	assert_null(make(&lines));
	common_bytes_free(&bad);
	common_bytes_free(&program);
	common_bytes_free(&lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_units),
		cmocka_unit_test(reads_discriminators),
		cmocka_unit_test(leaves_out_empty_sequences),
		cmocka_unit_test(tells_overlapping_code_apart),
		cmocka_unit_test(leaves_out_what_is_no_code),
		cmocka_unit_test(passes_damaged_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
