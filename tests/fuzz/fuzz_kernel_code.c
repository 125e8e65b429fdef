/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes the readers of the kernel's code.
 * Input: u8 kind (0: /proc/kallsyms, 1: /proc/kcore or a vmlinux, 2: notes), then the bytes.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/file.h"
#include "elf/file.h"
#include "elf/kernel_file.h"
#include "elf/kernel_images.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Makes a file with these bytes and returns the descriptor and the path. */
static int make_file(const uint8_t *data, size_t size, char path[64])
{
	const int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || common_write_all(fd, data, size) < 0)
		abort();
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

/* Checks that images are sorted and disjoint, and that symbols lie in their image. */
static void check(const struct elf_kernel_images *images)
{
	uint64_t end = 0;

	for (size_t i = 0; i < images->count; i++) {
		const struct elf_kernel_image *image = &images->list[i];
		const struct ptl_symbol *first = images->symbols.list + image->first;

		if (!image->size || image->base + (image->size - 1) < image->base || (i && image->base <= end) ||
		    !image->count || image->first + image->count > images->symbols.count)
			abort();
		if (first->address < image->base || first[image->count - 1].address - image->base >= image->size)
			abort();
		end = image->base + (image->size - 1);
	}
}

static void read_symbols(const char *path)
{
	struct elf_kernel_images images;

	if (elf_kernel_images_read(path, &images) == 0)
		check(&images);
	elf_kernel_images_free(&images);
}

static void read_core(const char *path)
{
	struct elf_kernel_file *file;
	uint64_t address = 0;
	uint8_t bytes[5000];

	if (elf_kernel_file_open(path, &file) < 0)
		return;
	(void)elf_kernel_file_text(file, &address);
	for (uint64_t at = address - 4096; at != address + 8192; at += 4096)
		if (elf_kernel_file_read(file, at, bytes, sizeof(bytes)) > sizeof(bytes))
			abort();
	if (elf_kernel_file_read(file, UINT64_MAX - 4, bytes, sizeof(bytes)) > 5)
		abort();
	elf_kernel_file_close(file);
}

static void read_notes(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1), id[PTL_BUILD_ID_MAX];

	if (!copy)
		abort();
	memcpy(copy, data, size);
	if (elf_notes_build_id(copy, size, id) > sizeof(id))
		abort();
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	int fd;

	if (!size)
		return 0;
	if (data[0] == 2) {
		read_notes(data + 1, size - 1);
		return 0;
	}
	fd = make_file(data + 1, size - 1, path);
	if (data[0])
		read_core(path);
	else
		read_symbols(path);
	close(fd);
	return 0;
}
