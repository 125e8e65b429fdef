/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of kernel functions. perf.data lacks the names, but identifies the kernel. perf record keeps the symbol list of
 * that kernel in its cache; else the running kernel may be the same.
 */
#include <ptl/kernel.h>
#include <ptl/symbols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/file.h"
#include "elf/file.h"
#include "elf/kallsyms.h"
#include "elf/symbol_list.h"
#include "import/perf/import.h"

#define KERNEL PERF_KERNEL_NAME
#define NAMES_MAX ((size_t)512 << 20)
#define NOTES_MAX 65536u

struct reading {
	struct elf_symbol_list symbols;
	const char *reference;
	uint64_t reference_address;
};

static int take_kernel_symbol(void *context, const struct elf_kallsym *symbol)
{
	struct reading *reading = context;
	struct ptl_symbol copy = {.address = symbol->address, .type = (uint8_t)symbol->type};

	if (!*symbol->module && !strcmp(symbol->name, reading->reference))
		reading->reference_address = symbol->address;
	if (!elf_kallsym_is_code(symbol))
		return 0;
	copy.name = elf_symbol_list_name(&reading->symbols, symbol->name, strlen(symbol->name), "");
	return copy.name ? elf_symbol_list_add(&reading->symbols, &copy) : PTL_NO_MEMORY;
}

/* Makes the path of the symbol list in perf's cache. The cache has a list for each kernel that perf recorded. */
static void cached_path(const char *cache, const struct perf_build_id *id, char *path, size_t room)
{
	int used = snprintf(path, room, "%.3900s/" KERNEL "/", cache);

	for (size_t i = 0; i < id->size; i++)
		used += snprintf(path + used, room - (size_t)used, "%02x", id->bytes[i]);
	snprintf(path + used, room - (size_t)used, "/kallsyms");
}

/* Whether the running kernel has this build id. */
static bool runs_here(const struct perf_build_id *id)
{
	uint8_t own[PTL_BUILD_ID_MAX], *notes;
	size_t size, own_size;

	if (!id->size || common_read_file("/sys/kernel/notes", NOTES_MAX, &notes, &size) < 0)
		return false;
	own_size = elf_notes_build_id(notes, size, own);
	free(notes);
	return own_size == id->size && !memcmp(own, id->bytes, own_size);
}

static int read_list(const char *path, struct reading *reading)
{
	int status;

	elf_symbol_list_free(&reading->symbols);
	reading->symbols = (struct elf_symbol_list){.limit = NAMES_MAX};
	reading->reference_address = 0;
	status = elf_kallsyms_read(path, take_kernel_symbol, reading);
	return status < 0 ? status : reading->symbols.count && reading->reference_address;
}

/* Reads the symbol list of the kernel. Returns 1: found; 0: no list; PTL_NO_MEMORY. */
static int find_list(const struct perf_import *import, const struct perf_build_id *id, struct reading *reading)
{
	char path[4200];
	int found = 0;

	for (size_t i = 0; (found == 0 || found == PTL_SYSTEM) && id->size && i < PERF_CACHES && import->caches[i][0];
	     i++) {
		cached_path(import->caches[i], id, path, sizeof(path));
		found = read_list(path, reading);
	}
	if ((found == 0 || found == PTL_SYSTEM) && runs_here(id))
		found = read_list("/proc/kallsyms", reading);
	return found == PTL_SYSTEM ? 0 : found;
}

/*
 * Writes the symbols, moved to the addresses of the recorded kernel. The list may come from another boot; the symbol
 * that perf names tells the distance.
 */
static int put_names(struct perf_import *import, const struct reading *reading, struct ptl_image_event *image)
{
	const struct elf_image_sink sink = perf_image_sink(import);
	const uint64_t moved = image->file_offset - reading->reference_address;
	struct ptl_symbol *own = reallocarray(NULL, reading->symbols.count + 1, sizeof(*own));
	struct ptl_bytes encoded = {0};
	size_t count = 0;
	int status;

	if (!own)
		return common_fail_memory("symbols of the kernel", (reading->symbols.count + 1) * sizeof(*own));
	for (size_t i = 0; i < reading->symbols.count; i++) {
		own[count] = reading->symbols.list[i];
		own[count].address += moved;
		if (own[count].address - image->base >= image->size)
			continue;
		own[count++].address += image->default_base - image->base;
	}
	status = ptl_symbols_encode(own, count, &encoded);
	free(own);
	if (status == 0 && count)
		status = sink.blob(sink.context, PTL_BLOB_SYMBOLS, encoded.data, encoded.size, image->symbols);
	image->has_symbols = status == 0 && count;
	common_bytes_free(&encoded);
	return status;
}

int perf_kernel_names(struct perf_import *import, const struct perf_kernel *kernel, struct ptl_image_event *image)
{
	const struct perf_build_id *id = perf_build_id_find(import, kernel->machine, KERNEL);
	struct reading reading = {.reference = perf_kernel_reference(image->file_name)};
	int status;

	if (!id || !reading.reference || !*reading.reference)
		return 0;
	image->build_id_size = id->size;
	memcpy(image->build_id, id->bytes, image->build_id_size);
	/* kallsyms beside perf.data is that of the recording. */
	if (kernel->images.symbols.count || import->embed < ELF_EMBED_SYMBOLS)
		return 0;
	status = find_list(import, id, &reading);
	if (status > 0)
		status = put_names(import, &reading, image);
	elf_symbol_list_free(&reading.symbols);
	return status;
}
