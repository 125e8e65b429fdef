/* SPDX-License-Identifier: BSD-2-Clause */
/* Encodes symbol tables: docs/format.md, section 10. */
#include <ptl/symbols.h>

#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "format/metadata/symbols.h"

/* Compares two symbols by their indexes in `context`, an array of symbols. */
static int compare_symbols(const void *a, const void *b, void *context)
{
	const struct ptl_symbol *symbols = context;
	const struct ptl_symbol *left = &symbols[*(const uint32_t *)a], *right = &symbols[*(const uint32_t *)b];
	int names;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	names = strcmp(left->name, right->name);
	if (names)
		return names;
	if (left->size != right->size)
		return left->size < right->size ? -1 : 1;
	return (int)left->type - (int)right->type;
}

/* Returns the length of the common prefix of two names, at most the format's maximum. */
static size_t shared_prefix(const char *a, const char *b)
{
	size_t size = 0;

	while (size < FORMAT_SYMBOL_PREFIX_MAX && a[size] && a[size] == b[size])
		size++;
	return size;
}

static void write_symbol(struct ptl_bytes *out, const struct ptl_symbol *last, const struct ptl_symbol *symbol)
{
	size_t prefix = shared_prefix(last->name, symbol->name);
	size_t rest = strlen(symbol->name + prefix);

	if (rest > FORMAT_SYMBOL_REST_MAX)
		rest = FORMAT_SYMBOL_REST_MAX;
	common_write_varint(out, symbol->address - last->address);
	common_write_varint(out, symbol->size);
	common_write_le(out, symbol->type, 1);
	common_write_le(out, prefix, 1);
	common_write_varint(out, rest);
	common_write_bytes(out, symbol->name + prefix, rest);
}

int ptl_symbols_encode(const struct ptl_symbol *symbols, size_t count, struct ptl_bytes *out)
{
	struct ptl_symbol last = {.name = ""};
	uint32_t *sorted; /* indexes need an eighth of the symbols' memory */

	if (count > UINT32_MAX)
		return common_fail_memory("symbols", SIZE_MAX);
	sorted = malloc(count * sizeof(*sorted) + 1);
	if (!sorted)
		return common_fail_memory("symbols", count * sizeof(*sorted));
	for (size_t i = 0; i < count; i++)
		sorted[i] = (uint32_t)i;
	qsort_r(sorted, count, sizeof(*sorted), compare_symbols, (void *)symbols);
	common_write_bytes(out, FORMAT_SYMBOLS_MAGIC, FORMAT_SYMBOLS_MAGIC_SIZE);
	common_write_varint(out, count);
	for (size_t i = 0; i < count; i++) {
		write_symbol(out, &last, &symbols[sorted[i]]);
		last = symbols[sorted[i]];
	}
	free(sorted);
	return out->failed ? common_fail_memory("symbol table", out->size) : 0;
}
