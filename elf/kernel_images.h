/* SPDX-License-Identifier: BSD-2-Clause */
/* Locations of kernel code, read from the kernel's symbols: the kernel itself, modules, and code made at run time. */
#ifndef ELF_KERNEL_IMAGES_H
#define ELF_KERNEL_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"
#include "elf/symbol_list.h"

struct elf_kernel_image {
	uint64_t base; /* page-aligned */
	uint64_t size;
	const char *name;         /* module, or name of code made at run time; "" for the kernel itself */
	bool made;                /* made at run time: a BPF program, a trampoline */
	size_t first, count;      /* range of the image's symbols in the list */
	struct ptl_bytes encoded; /* encoded symbols, if the caller wants encoding */
};

struct elf_kernel_images {
	struct elf_kernel_image *list; /* sorted by address, without overlaps */
	size_t count, capacity;
	struct elf_symbol_list symbols; /* of all code, sorted by address */
	const char **modules;           /* module of each symbol, during reading only */
	size_t module_capacity;
	uint64_t text, text_end; /* range of the kernel's own code; 0 if unknown */
};

/*
 * kallsyms: path of the file. Fails as elf_kallsyms_read, or with PTL_NO_MEMORY. The caller frees images in any case.
 */
int elf_kernel_images_read(const char *kallsyms, struct elf_kernel_images *images);
/* Whether the images have code made at run time that begins at this address. */
bool elf_kernel_images_made(const struct elf_kernel_images *images, uint64_t base);
void elf_kernel_images_free(struct elf_kernel_images *images);

#endif
