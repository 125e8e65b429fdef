/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups consecutive symbols of a module into an image. */
#include "elf/kernel_images.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/partition.h"
#include "common/vector.h"
#include "elf/kallsyms.h"

#define PAGE 4096u
#define UPPER_HALF (1ull << 63)
#define NAMES_MAX ((size_t)512 << 20) /* bytes; a large kernel uses 10 MiB */
#define GAP_MAX (16u << 20)           /* bytes between symbols of one image */
#define LAST_MAX (64u << 10)          /* maximum bytes of an image's last function, which has no known end */

/* Checks for pseudo modules, whose symbols are code made at run time. */
static bool is_made(const char *module)
{
	return !strcmp(module, "bpf") || !strncmp(module, "__builtin__", 11);
}

/* Checks for border symbols, which are no functions, and notes the borders. */
static bool is_border(struct elf_kernel_images *images, const struct elf_kallsym *symbol)
{
	if (*symbol->module)
		return false;
	if (!strcmp(symbol->name, "_stext") || !strcmp(symbol->name, "_text")) {
		if (!images->text || symbol->address < images->text)
			images->text = symbol->address;
		return true;
	}
	if (strcmp(symbol->name, "_etext") != 0)
		return false;
	images->text_end = symbol->address;
	return true;
}

static int take_symbol(void *context, const struct elf_kallsym *symbol)
{
	struct elf_kernel_images *images = context;
	const size_t count = images->symbols.count;
	struct ptl_symbol copy = {.address = symbol->address, .type = (uint8_t)symbol->type};
	const char *module;

	/* The last page stays empty, so that the end of an image has an address. */
	if (is_border(images, symbol) || symbol->address < UPPER_HALF || symbol->address > UINT64_MAX - PAGE ||
	    !elf_kallsym_is_code(symbol))
		return 0;
	copy.name = elf_symbol_list_name(&images->symbols, symbol->name, strlen(symbol->name), "");
	/* Symbols of a module are consecutive. */
	module = count && !strcmp(images->modules[count - 1], symbol->module)
			 ? images->modules[count - 1]
			 : elf_symbol_list_name(&images->symbols, symbol->module, strlen(symbol->module), "");
	if (!copy.name || !module ||
	    COMMON_VECTOR_RESERVE(images->modules, images->module_capacity, count + 1, "symbols of the kernel"))
		return PTL_NO_MEMORY;
	images->modules[count] = module;
	return elf_symbol_list_add(&images->symbols, &copy);
}

/* ---- order ----------------------------------------------------------------------------------- */

struct entry {
	struct ptl_symbol symbol;
	const char *module;
	size_t number; /* position in the file */
};

static int compare_images(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->symbol.address != y->symbol.address)
		return x->symbol.address < y->symbol.address ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Checks for symbols behind the kernel's code: data, and init functions whose memory was freed. */
static bool is_left_out(const struct elf_kernel_images *images, const struct entry *entry)
{
	const uint64_t address = entry->symbol.address;

	return !*entry->module && images->text && images->text_end > images->text &&
	       (address < images->text || address >= images->text_end);
}

/* Sorts symbols by address, without the symbols that is_left_out selects. */
static int sort(struct elf_kernel_images *images)
{
	const size_t count = images->symbols.count;
	struct entry *entries = reallocarray(NULL, count + 1, sizeof(*entries));

	if (!entries)
		return common_fail_memory("symbols of the kernel", (count + 1) * sizeof(*entries));
	for (size_t i = 0; i < count; i++)
		entries[i] = (struct entry){images->symbols.list[i], images->modules[i], i};
	qsort(entries, count, sizeof(*entries), compare_images);
	images->symbols.count = 0;
	for (size_t i = 0; i < count; i++) {
		const size_t left = images->symbols.count;

		if (is_left_out(images, &entries[i]))
			continue;
		images->symbols.list[left] = entries[i].symbol;
		images->modules[left] = entries[i].module;
		images->symbols.count++;
	}
	free(entries);
	return 0;
}

/* ---- images ---------------------------------------------------------------------------------- */

static bool belongs(const struct elf_kernel_images *images, const struct elf_kernel_image *image, size_t i)
{
	const struct ptl_symbol *symbols = images->symbols.list;

	return !image->made && !strcmp(image->name, images->modules[i]) &&
	       symbols[i].address - symbols[i - 1].address <= GAP_MAX;
}

static int add_image(struct elf_kernel_images *images, size_t i)
{
	const bool made = is_made(images->modules[i]);

	if (COMMON_VECTOR_RESERVE(images->list, images->capacity, images->count + 1, "code of the kernel"))
		return PTL_NO_MEMORY;
	images->list[images->count++] = (struct elf_kernel_image){
		.base = made ? images->symbols.list[i].address : images->symbols.list[i].address & -(uint64_t)PAGE,
		.name = made ? images->symbols.list[i].name : images->modules[i],
		.made = made,
		.first = i,
		.count = 1,
	};
	return 0;
}

static uint64_t last_symbol(const struct elf_kernel_images *images, size_t n)
{
	return images->symbols.list[images->list[n].first + images->list[n].count - 1].address;
}

/* Returns the end of an image, with an estimate for the last function. */
static uint64_t end_of(const struct elf_kernel_images *images, size_t n)
{
	const uint64_t last = last_symbol(images, n);
	uint64_t end = UINT64_MAX;

	if (!*images->list[n].name && images->text_end > last)
		end = images->text_end;
	else if (last < UINT64_MAX - LAST_MAX - PAGE)
		end = (last | (PAGE - 1)) + 1 + LAST_MAX;
	return n + 1 < images->count && images->list[n + 1].base < end ? images->list[n + 1].base : end;
}

static int group(struct elf_kernel_images *images)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < images->symbols.count; i++) {
		struct elf_kernel_image *last = images->count ? &images->list[images->count - 1] : NULL;
		const bool again = i && images->symbols.list[i].address == images->symbols.list[i - 1].address;

		if (last && last->first + last->count == i && (belongs(images, last, i) || again))
			last->count++;
		else
			status = add_image(images, i);
	}
	/* Modules never share a page, but code made at run time may begin in the middle of a page. */
	for (size_t n = 1; n < images->count; n++)
		if (images->list[n].base <= last_symbol(images, n - 1))
			images->list[n].base = last_symbol(images, n - 1) + 1;
	for (size_t n = 0; n < images->count; n++)
		images->list[n].size = end_of(images, n) - images->list[n].base;
	return status;
}

int elf_kernel_images_read(const char *kallsyms, struct elf_kernel_images *images)
{
	int status;

	*images = (struct elf_kernel_images){.symbols = {.limit = NAMES_MAX}};
	status = elf_kallsyms_read(kallsyms, take_symbol, images);
	if (status == 0)
		status = sort(images);
	if (status == 0)
		status = group(images);
	free(images->modules);
	images->modules = NULL;
	return status;
}

bool elf_kernel_images_made(const struct elf_kernel_images *images, uint64_t base)
{
	const size_t at = COMMON_PARTITION(images->count, i, images->list[i].base < base);

	return at < images->count && images->list[at].base == base && images->list[at].made;
}

void elf_kernel_images_free(struct elf_kernel_images *images)
{
	for (size_t i = 0; i < images->count; i++)
		common_bytes_free(&images->list[i].encoded);
	elf_symbol_list_free(&images->symbols);
	free(images->list);
	free(images->modules);
	*images = (struct elf_kernel_images){0};
}
