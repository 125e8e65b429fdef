/* SPDX-License-Identifier: BSD-2-Clause */
/* Symbols of ELF files, and those of an image among all of a file. */
#include "relog/rules/symbols.h"

#include <stdlib.h>

#include "common/error.h"
#include "elf/file.h"

void rules_symbols_free(struct rules_symbol_list *symbols)
{
	free(symbols->list);
	free(symbols->names);
	ptl_symbols_free(symbols->table);
	*symbols = (struct rules_symbol_list){0};
}

static int list_table(struct rules_symbol_list *symbols)
{
	size_t count = ptl_symbols_count(symbols->table);

	symbols->list = calloc(count + 1, sizeof(*symbols->list));
	if (!symbols->list)
		return ptl_fail_memory("symbols", count);
	for (size_t i = 0; i < count; i++)
		symbols->list[i] = ptl_symbols_get(symbols->table, i);
	symbols->count = count;
	return 0;
}

int rules_symbols_elf(const char *name, const uint8_t *data, size_t size,
		      struct rules_symbol_list *symbols, uint64_t *first)
{
	struct ptl_bytes encoded = {0};
	struct ptl_elf *elf;
	int status = ptl_elf_open_memory(data, size, &elf);

	*symbols = (struct rules_symbol_list){0};
	*first = 0;
	if (status < 0)
		return ptl_fail_in(status, "%s", name);
	*first = ptl_elf_first_address(elf);
	status = ptl_elf_symbols(elf, NULL, &encoded);
	if (!status && encoded.size)
		status = ptl_symbols_decode(encoded.data, encoded.size, &symbols->table);
	if (!status && symbols->table)
		status = list_table(symbols);
	ptl_bytes_free(&encoded);
	ptl_elf_close(elf);
	if (status < 0) {
		rules_symbols_free(symbols);
		return ptl_fail_in(status, "%s", name);
	}
	return 0;
}

int rules_symbols_encode(const struct rules_symbol_list *symbols, uint64_t base, uint64_t size,
			 uint64_t new_base, struct ptl_bytes *out, size_t *count)
{
	struct ptl_symbol *inside = calloc(symbols->count + 1, sizeof(*inside));
	int status = 0;

	*count = 0;
	if (!inside)
		return ptl_fail_memory("symbols", symbols->count);
	for (size_t i = 0; i < symbols->count; i++) {
		uint64_t offset = symbols->list[i].address - base;

		if (symbols->list[i].address < base || offset >= size || offset > UINT64_MAX - new_base)
			continue;
		inside[*count] = symbols->list[i];
		inside[(*count)++].address = new_base + offset;
	}
	if (*count)
		status = ptl_symbols_encode(inside, *count, out);
	free(inside);
	return status;
}
