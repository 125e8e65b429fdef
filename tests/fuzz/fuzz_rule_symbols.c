/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes the readers of symbol files that rules name: the first byte chooses nm, perf map or ELF. What they accept can
 * be encoded, and read again.
 */
#include <stdint.h>
#include <stdlib.h>

#include "relog/rules/symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct rules_symbol_list *list)
{
	struct ptl_symbol_table *table;
	struct ptl_bytes out = {0};
	size_t count;

	if (!rules_symbols_encode(list, 0x1000, 0x100000, 0x10, &out, &count) && count) {
		if (ptl_symbols_decode(out.data, out.size, &table) < 0)
			abort();
		if (ptl_symbols_count(table) > count)
			abort();
		ptl_symbols_free(table);
	}
	ptl_bytes_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rules_symbol_list list;
	uint64_t first;
	int status;

	if (!size)
		return 0;
	if (data[0] == 'n')
		status = rules_symbols_nm("s", data + 1, size - 1, &list);
	else if (data[0] == 'p')
		status = rules_symbols_perf_map("s", data + 1, size - 1, &list);
	else
		status = rules_symbols_elf("s", data + 1, size - 1, &list, &first);
	if (!status) {
		check(&list);
		rules_symbols_free(&list);
	}
	return 0;
}
