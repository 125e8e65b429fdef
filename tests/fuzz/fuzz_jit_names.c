/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes the readers of perf maps and jitdump files, told apart by the first bytes, and the layers of their functions.
 * Functions of a layer do not overlap, lines lie in functions, and the result can be encoded and read again.
 */
#include <stdint.h>
#include <stdlib.h>

#include "common/bytes.h"
#include "elf/jit_names.h"
#include "flow/symbol/line_table.h"
#include "flow/symbol/made_order.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int by_layer(const void *left, const void *right)
{
	const struct flow_made_function *a = left, *b = right;

	if (a->layer != b->layer)
		return a->layer < b->layer ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

static void check_layers(const struct elf_jit_names *names)
{
	struct flow_made_history history = {0};
	struct flow_made_order order = {0};
	const struct flow_made_function *before = NULL;

	if (flow_made_order_begin(&order, names, names->made.places, &history) || flow_made_order_settle(&order, NULL))
		abort();
	if (order.count)
		qsort(order.list, order.count, sizeof(*order.list), by_layer);
	for (size_t i = 0; i < order.count; i++) {
		const struct flow_made_function *function = &order.list[i];

		if (!function->is_visible)
			continue;
		if (before && before->layer == function->layer && function->first <= before->last)
			abort();
		before = function;
	}
	flow_made_order_free(&order);
	flow_made_history_free(&history);
}

static void check(const struct elf_made_list *made)
{
	const struct elf_line_list *lines = &made->lines;
	struct flow_line_table *line_table = flow_lines_of(lines->list, lines->count);
	struct ptl_symbol_table *table;
	struct ptl_bytes out = {0};

	for (size_t i = 0; i < lines->count; i++) {
		const struct elf_line *line = &lines->list[i];

		if (line->symbol >= made->symbols.count || (i && line->symbol < lines->list[i - 1].symbol) ||
		    line->address - made->symbols.list[line->symbol].address > made->symbols.list[line->symbol].size)
			abort();
	}
	if (!line_table != !lines->count)
		abort();
	flow_lines_free(line_table);
	if (!ptl_symbols_encode(made->symbols.list, made->symbols.count, &out) && out.size) {
		if (ptl_symbols_decode(out.data, out.size, &table) < 0)
			abort();
		ptl_symbols_free(table);
	}
	common_bytes_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct elf_symbol_source source = {.fd = -1, .data = data, .size = size};
	struct elf_jit_set set = {0};

	if (size < 1u << 16 && elf_jit_set_add(&set, "s", &source, 1) != PTL_NO_MEMORY && set.count) {
		check(&set.list[0]->made);
		check_layers(set.list[0]);
	}
	elf_jit_set_free(&set);
	return 0;
}
