/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads symbols of ELF files, and encodes the symbol table of an image. */
#include "relog/rules/symbols.h"

#include "common/error.h"
#include "elf/file.h"

int rules_symbols_elf(const char *name, const struct elf_symbol_source *source, bool lowest,
		      struct elf_symbol_list *symbols)
{
	struct elf_file *elf;
	int status = source->fd >= 0 ? elf_open(source->fd, &elf) : elf_open_memory(source->data, source->size, &elf);

	if (status < 0)
		return common_fail_in(status, "%s", name);
	if (lowest)
		symbols->base += elf_first_address(elf);
	status = elf_functions(elf, NULL, symbols);
	elf_close(elf);
	return status < 0 ? common_fail_in(status, "%s", name) : 0;
}

int rules_symbols_encode(struct elf_symbol_list *symbols, uint64_t new_base, struct ptl_bytes *out)
{
	size_t count = 0;

	for (size_t i = 0; i < symbols->count; i++) {
		const uint64_t offset = symbols->list[i].address - symbols->base;

		if (offset > UINT64_MAX - new_base)
			continue;
		symbols->list[count] = symbols->list[i];
		symbols->list[count++].address = new_base + offset;
	}
	symbols->count = count;
	return count ? ptl_symbols_encode(symbols->list, count, out) : 0;
}
