/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's code and symbols: kcore and kallsyms beside perf.data (perf record --kcore), else the kernel's file. The
 * kernel of a virtual machine has a folder of its own, which perf inject --guest-data copies.
 */
#ifndef IMPORT_PERF_KERNEL_H
#define IMPORT_PERF_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include <ptl/kernel.h>

#include "elf/kernel_file.h"
#include "elf/kernel_images.h"
#include "import/perf/bpf.h"
#include "import/perf/mapping.h"

/* Zero-initialised: nothing is known. */
struct perf_kernel {
	uint32_t machine;                /* index of a virtual machine; 0: the recorded machine */
	struct elf_kernel_file *core;    /* copy of kcore; NULL: none */
	struct elf_kernel_images images; /* of kallsyms beside kcore; empty without kallsyms */
	struct elf_kernel_file *file;    /* vmlinux; NULL: none, or not searched yet */
	char file_path[512];
	char flaw[300]; /* why kcore_dir is not read; "": read, or not there */
	struct perf_bpf bpf;
	uint64_t unread;        /* images without bytes */
	char unread_names[200]; /* names of the first of these images */
};

struct perf_import;

/*
 * Opens kcore_dir in the folder of perf.data. Does nothing if perf.data is no folder, or has no kcore_dir. Notes a flaw
 * if kcore or kallsyms is unreadable. Returns PTL_NO_MEMORY.
 */
int perf_kernel_open(struct perf_import *import);
/* Finds the kernel of a machine; opens the kcore_dir of a virtual machine at first use. Returns PTL_NO_MEMORY. */
int perf_kernel_of(struct perf_import *import, uint32_t machine, struct perf_kernel **kernel);
void perf_kernel_free(struct perf_import *import);

/* Writes code that the kernels had made before the recording: BPF programs, trampolines. */
int perf_kernel_begin(struct perf_import *import);
/* Adds code and symbols to the image of a mapping of the kernel. Returns PTL_NO_MEMORY, PTL_SYSTEM. */
int perf_kernel_image(struct perf_import *import, const struct perf_mapping *mapping, struct ptl_image_event *image);
/*
 * Writes an image for code that the kernel made. code: `size` bytes; NULL: the bytes of code from before the
 * recording are those of kcore, others are unknown, or follow. Returns PTL_NO_MEMORY, PTL_SYSTEM.
 */
int perf_kernel_made(struct perf_import *import, struct perf_kernel *kernel, struct ptl_image_event *image,
		     const uint8_t *code, const struct ptl_event *at);
/* Counts an image without bytes. */
void perf_kernel_unread(struct perf_kernel *kernel, const char *name);
/* Writes losses for images without bytes, if packets are of the kernel, too. */
int perf_kernel_lose(struct perf_import *import);

#endif
