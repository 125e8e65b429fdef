/* SPDX-License-Identifier: BSD-2-Clause */
/* Where code of the kernel lies now: the kernel's own, its modules, and what it made at run time, by its list of symbols. */
#ifndef RECORD_KERNEL_KERNEL_IMAGES_H
#define RECORD_KERNEL_KERNEL_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"
#include "elf/symbol_list.h"

struct record_kernel_image {
	uint64_t base; /* of pages */
	uint64_t size;
	const char *name;         /* of the module, or of the code that was made; "": the kernel's own */
	bool made;                /* at run time: a BPF program, a trampoline */
	size_t first, count;      /* of its symbols in the list */
	struct ptl_bytes encoded; /* these, where the caller wants them so */
};

struct record_kernel_images {
	struct record_kernel_image *list; /* in order of address; none lies over another */
	size_t count, capacity;
	struct elf_symbol_list symbols; /* of all code, in order of address */
	const char **modules;           /* of each symbol; while they are read */
	size_t module_capacity;
	uint64_t text, text_end; /* of the kernel's own code; 0: unknown */
};

/* kallsyms: the path of that file. As elf_kallsyms_read; PTL_NO_MEMORY. To be freed in any case. */
int record_kernel_images_read(const char *kallsyms, struct record_kernel_images *images);
void record_kernel_images_free(struct record_kernel_images *images);

#endif
