/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes the readers of perf maps and jitdump files, told apart by the first bytes. Resulting functions do not overlap,
 * lines lie in functions, and the result can be encoded and read again.
 */
#include <stdint.h>
#include <stdlib.h>

#include "common/bytes.h"
#include "elf/jitdump.h"
#include "flow/symbol/line_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int by_address(const void *left, const void *right)
{
	const struct ptl_symbol *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

static bool lies_in(const struct elf_symbol_list *symbols, const struct elf_line *line)
{
	for (size_t i = 0; i < symbols->count; i++)
		if (line->address - symbols->list[i].address <= symbols->list[i].size)
			return true;
	return false;
}

static void check(struct elf_symbol_list *symbols, const struct elf_line_list *lines)
{
	struct flow_line_table *line_table = flow_lines_of(lines->list, lines->count);
	struct ptl_symbol_table *table;
	struct ptl_bytes out = {0};

	if (symbols->count)
		qsort(symbols->list, symbols->count, sizeof(*symbols->list), by_address);
	for (size_t i = 1; i < symbols->count; i++)
		if (symbols->list[i].address - symbols->list[i - 1].address <
		    (symbols->list[i - 1].size ? symbols->list[i - 1].size : 1))
			abort();
	for (size_t i = 0; i < lines->count; i++)
		if (!lies_in(symbols, &lines->list[i]))
			abort();
	if (!line_table != !lines->count)
		abort();
	flow_lines_free(line_table);
	if (!ptl_symbols_encode(symbols->list, symbols->count, &out) && out.size) {
		if (ptl_symbols_decode(out.data, out.size, &table) < 0)
			abort();
		ptl_symbols_free(table);
	}
	common_bytes_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct elf_symbol_source source = {.fd = -1, .data = data, .size = size};
	struct elf_symbol_list symbols = {.limit = 8u << 20};
	struct elf_line_list lines = {0};
	int status = elf_is_jitdump(&source) ? elf_symbols_jitdump("s", &source, &symbols, &lines, NULL)
					     : elf_symbols_perf_map("s", &source, &symbols);

	if (status != PTL_NO_MEMORY)
		check(&symbols, &lines);
	free(lines.list);
	elf_symbol_list_free(&symbols);
	return 0;
}
