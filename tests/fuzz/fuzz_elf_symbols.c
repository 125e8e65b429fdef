/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzzes the reader of ELF files. Encoded symbols must be readable again. */
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <ptl/symbols.h>

#include "elf/debug_search.h"
#include "elf/sdt.h"
#include "record/kernel_event/fetch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_symbols(const struct elf_file *elf)
{
	struct ptl_bytes encoded = {0};
	struct ptl_symbol_table *table;

	if (elf_symbols(elf, NULL, &encoded) == 0 && encoded.size) {
		if (ptl_symbols_decode(encoded.data, encoded.size, &table) < 0)
			abort();
		ptl_symbols_free(table);
	}
	common_bytes_free(&encoded);
}

/* Checks that ranges are sorted, disjoint and not empty. */
static void check_ranges(const struct elf_file *elf)
{
	struct elf_range *ranges;
	size_t count;
	uint64_t end = 0;

	if (elf_read_only(elf, &ranges, &count) < 0)
		abort();
	for (size_t i = 0; i < count; i++) {
		if (ranges[i].offset < end || !ranges[i].size || ranges[i].size > UINT64_MAX - ranges[i].offset)
			abort();
		end = ranges[i].offset + ranges[i].size;
	}
	free(ranges);
}

/* The kernel's form of a probe's arguments is one line for any file. */
static int check_probe(void *context, const struct elf_sdt_probe *probe)
{
	struct ptl_bytes fetched = {0};
	unsigned left_out;

	(void)context;
	kernel_event_fetch_sdt(probe->arguments, &fetched, &left_out);
	for (size_t i = 0; i < fetched.size; i++)
		if (!isalnum(fetched.data[i]) && !strchr(" =%:()+-\\", fetched.data[i]))
			abort();
	common_bytes_free(&fetched);
	return *probe->provider && *probe->name ? 0 : (abort(), 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t id[PTL_BUILD_ID_MAX];
	struct elf_file *elf;
	uint64_t address;
	uint32_t crc;
	char link[256];

	if (elf_open_memory(data, size, &elf) < 0)
		return 0;
	if (elf_build_id(elf, id) > sizeof(id))
		abort();
	(void)elf_address(elf, 0x1000, &address);
	(void)elf_has_symtab(elf);
	(void)elf_has_debug(elf);
	if (elf_debug_link(elf, link, &crc) && (!*link || strchr(link, '/')))
		abort();
	check_symbols(elf);
	check_ranges(elf);
	(void)elf_sdt_probes(elf, check_probe, NULL);
	elf_close(elf);
	return 0;
}
