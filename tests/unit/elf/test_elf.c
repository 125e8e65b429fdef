/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the ELF reader with this program, truncated copies, and files that are not ELF. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <unistd.h>

#include <cmocka.h>

#include <ptl/symbols.h>

#include "common/file.h"
#include "elf/file.h"

/* A function known only by the symbol table. */
__attribute__((noinline, used)) static int a_function_to_be_found(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

static struct elf_file *open_own(int *fd)
{
	struct elf_file *elf = NULL;

	*fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_true(*fd >= 0);
	assert_int_equal(elf_open(*fd, &elf), 0);
	return elf;
}

/* Finds the mapping of our code in /proc/self/maps: base less file offset, and the file offset of the range. */
static void find_own_mapping(uint64_t address, uint64_t *base, uint64_t *offset)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long long low, high, at;
	char line[4096];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%llx-%llx %*s %llx", &low, &high, &at) != 3 || address < low || address >= high)
			continue;
		*base = low;
		*offset = at;
		fclose(maps);
		return;
	}
	fail_msg("our own code is not mapped");
}

static void finds_a_function_by_its_address(void **state)
{
	struct ptl_symbol_table *table = NULL;
	struct ptl_bytes encoded = {0};
	const uint64_t here = (uint64_t)(uintptr_t)a_function_to_be_found;
	uint64_t base = 0, offset = 0, address = 0;
	struct elf_file *elf;
	int fd;

	(void)state;
	elf = open_own(&fd);
	find_own_mapping(here, &base, &offset);
	assert_true(elf_address(elf, offset, &address));
	assert_int_equal(elf_symbols(elf, NULL, &encoded), 0);
	assert_int_equal(ptl_symbols_decode(encoded.data, encoded.size, &table), 0);
	assert_string_equal(ptl_symbols_find(table, here - base + address).name, "a_function_to_be_found");
	assert_int_equal(ptl_symbols_find(table, here - base + address).type, 't');
	ptl_symbols_free(table);
	common_bytes_free(&encoded);
	elf_close(elf);
	close(fd);
}

static void names_plt_entries(void **state)
{
	struct ptl_symbol_table *table = NULL;
	struct ptl_bytes encoded = {0};
	struct elf_file *elf;
	bool found = false;
	int fd;

	(void)state;
	elf = open_own(&fd);
	assert_int_equal(elf_symbols(elf, NULL, &encoded), 0);
	assert_int_equal(ptl_symbols_decode(encoded.data, encoded.size, &table), 0);
	for (size_t i = 0; i < ptl_symbols_count(table); i++) {
		const struct ptl_symbol symbol = ptl_symbols_get(table, i);

		if (symbol.type == 'P')
			assert_non_null(strstr(symbol.name, "@plt"));
		found |= symbol.type == 'P' && !strcmp(symbol.name, "_cmocka_run_group_tests@plt");
	}
	assert_true(found);
	ptl_symbols_free(table);
	common_bytes_free(&encoded);
	elf_close(elf);
	close(fd);
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *path)
{
	(void)size;
	if (strstr(info->dlpi_name, "/libc.so.6"))
		snprintf(path, PATH_MAX, "%s", info->dlpi_name);
	return 0;
}

/* IFUNC resolvers fill slots of the C library's PLT: such relocations have an address and no name. */
static void names_plt_entries_of_choosers(void **state)
{
	struct ptl_symbol_table *table = NULL;
	struct ptl_bytes encoded = {0};
	struct elf_file *elf;
	char path[PATH_MAX] = "";
	bool found = false;
	int fd;

	(void)state;
	dl_iterate_phdr(find_libc, path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		skip();
	assert_int_equal(elf_open(fd, &elf), 0);
	assert_int_equal(elf_symbols(elf, NULL, &encoded), 0);
	assert_int_equal(ptl_symbols_decode(encoded.data, encoded.size, &table), 0);
	for (size_t i = 0; i < ptl_symbols_count(table) && !found; i++) {
		const struct ptl_symbol symbol = ptl_symbols_get(table, i);

		found = symbol.type == 'P' && !strcmp(symbol.name, "strlen@plt");
	}
	assert_true(found);
	ptl_symbols_free(table);
	common_bytes_free(&encoded);
	elf_close(elf);
	close(fd);
}

static void reads_a_build_id(void **state)
{
	uint8_t id[PTL_BUILD_ID_MAX];
	struct elf_file *elf;
	int fd;

	(void)state;
	elf = open_own(&fd);
	/* Debian's linker makes build ids of 20 bytes. */
	assert_int_equal(elf_build_id(elf, id), 20);
	assert_true(elf_has_symtab(elf));
	elf_close(elf);
	close(fd);
}

static void knows_no_address_outside_of_segments(void **state)
{
	struct elf_file *elf;
	uint64_t address;
	int fd;

	(void)state;
	elf = open_own(&fd);
	assert_false(elf_address(elf, UINT64_MAX, &address));
	assert_false(elf_address(elf, (uint64_t)1 << 40, &address));
	assert_true(elf_address(elf, 0, &address));
	elf_close(elf);
	close(fd);
}

static const char read_only[] = "a text to be found among what is only read";

static bool is_read_only(const struct elf_range *ranges, size_t count, uint64_t offset)
{
	for (size_t i = 0; i < count; i++)
		if (offset >= ranges[i].offset && offset - ranges[i].offset < ranges[i].size)
			return true;
	return false;
}

static uint64_t own_offset(const void *address)
{
	const uint64_t here = (uint64_t)(uintptr_t)address;
	uint64_t base = 0, offset = 0;

	find_own_mapping(here, &base, &offset);
	return here - base + offset;
}

static void tells_data_from_code(void **state)
{
	static int writable = 1;
	struct elf_range *ranges;
	struct elf_file *elf;
	size_t count;
	int fd;

	(void)state;
	elf = open_own(&fd);
	assert_int_equal(elf_read_only(elf, &ranges, &count), 0);
	assert_true(is_read_only(ranges, count, own_offset(read_only)));
	assert_false(is_read_only(ranges, count, own_offset((const void *)(uintptr_t)a_function_to_be_found)));
	assert_false(is_read_only(ranges, count, own_offset(&writable)));
	assert_false(is_read_only(ranges, count, 0)); /* headers */
	free(ranges);
	elf_close(elf);
	close(fd);
}

static void refuses_what_is_no_elf_file(void **state)
{
	static const char text[] = "#!/bin/sh\nexit 0\n";
	struct elf_file *elf;

	(void)state;
	assert_int_equal(elf_open_memory(text, sizeof(text), &elf), PTL_NOT_OURS);
	assert_true(elf_open_memory("\177ELF", 4, &elf) < 0);
}

/* A file truncated anywhere gets an answer. */
static void survives_truncation(void **state)
{
	uint8_t id[PTL_BUILD_ID_MAX];
	uint8_t *data;
	size_t size;

	(void)state;
	assert_int_equal(common_read_file("/proc/self/exe", (size_t)64 << 20, &data, &size), 0);
	for (size_t cut = 0; cut < size; cut = cut < 256 ? cut + 1 : cut * 2) {
		uint8_t *copy = malloc(cut ? cut : 1);
		struct ptl_bytes encoded = {0};
		struct elf_file *elf;
		uint64_t address;

		assert_non_null(copy);
		memcpy(copy, data, cut);
		if (elf_open_memory(copy, cut, &elf) == 0) {
			(void)elf_build_id(elf, id);
			(void)elf_address(elf, 0x1000, &address);
			(void)elf_symbols(elf, NULL, &encoded);
			elf_close(elf);
		}
		common_bytes_free(&encoded);
		free(copy);
	}
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_a_function_by_its_address),      cmocka_unit_test(names_plt_entries),
		cmocka_unit_test(names_plt_entries_of_choosers),        cmocka_unit_test(reads_a_build_id),
		cmocka_unit_test(knows_no_address_outside_of_segments), cmocka_unit_test(tells_data_from_code),
		cmocka_unit_test(refuses_what_is_no_elf_file),          cmocka_unit_test(survives_truncation),
	};

	return a_function_to_be_found(-1) + cmocka_run_group_tests(tests, NULL, NULL);
}
