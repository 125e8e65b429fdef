/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes the readers of symbol files in rules: the first byte selects nm, perf map or ELF. Accepted symbols can be
 * encoded and read again.
 */
#include <stdint.h>
#include <stdlib.h>

#include "relog/rules/symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct elf_symbol_list *list)
{
	struct ptl_symbol_table *table;
	struct ptl_bytes out = {0};
	const size_t count = list->count;

	if (!rules_symbols_encode(list, 0x10, &out) && out.size) {
		if (ptl_symbols_decode(out.data, out.size, &table) < 0)
			abort();
		if (ptl_symbols_count(table) > count)
			abort();
		ptl_symbols_free(table);
	}
	common_bytes_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_symbol_list list = {.base = 0x1000, .size = 0x100000, .limit = RULES_SYMBOLS_MAX};
	const struct elf_symbol_source source = {.fd = -1, .data = data + 1, .size = size - 1};
	int status;

	if (!size)
		return 0;
	if (data[0] == 'n')
		status = elf_symbols_nm("s", &source, &list);
	else if (data[0] == 'p')
		status = elf_symbols_perf_map("s", &source, &list);
	else
		status = rules_symbols_elf("s", &source, data[0] == 'e', &list);
	if (!status)
		check(&list);
	elf_symbol_list_free(&list);
	return 0;
}
