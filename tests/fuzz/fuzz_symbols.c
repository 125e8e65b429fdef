/* SPDX-License-Identifier: BSD-2-Clause */
/* A symbol table: decoded, searched, and encoded again. */
#include <stdint.h>
#include <stdlib.h>

#include <ptl/symbols.h>

#include "common/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void encode_again(const struct ptl_symbol_table *table)
{
	const size_t count = ptl_symbols_count(table);
	struct ptl_symbol *symbols = calloc(count + 1, sizeof(*symbols));
	struct ptl_symbol_table *again;
	struct ptl_bytes out = {0};

	if (!symbols)
		abort();
	for (size_t i = 0; i < count; i++) {
		symbols[i] = ptl_symbols_get(table, i);
		ptl_symbols_find(table, symbols[i].address + i % 7);
		if (!ptl_symbols_find(table, symbols[i].address).name && symbols[i].size)
			abort();
	}
	if (ptl_symbols_encode(symbols, count, &out) || ptl_symbols_decode(out.data, out.size, &again))
		abort();
	if (ptl_symbols_count(again) != count)
		abort();
	ptl_symbols_free(again);
	common_bytes_free(&out);
	free(symbols);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ptl_symbol_table *table;

	if (ptl_symbols_decode(data, size, &table))
		return 0;
	encode_again(table);
	ptl_symbols_free(table);
	return 0;
}
