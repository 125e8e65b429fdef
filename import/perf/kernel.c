/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the kernel's code and symbols for the images of process 0. */
#include "import/perf/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/partition.h"
#include "elf/kernel_files.h"
#include "import/perf/import.h"

#define IMAGE_MAX ((size_t)256 << 20) /* bytes; the largest kernels have about 30 MiB */

/* ---- kcore_dir ------------------------------------------------------------------------------- */

static int read_folder(struct perf_kernel *kernel, const char *folder)
{
	char path[4200];
	struct stat info;
	int status;

	if (stat(folder, &info) < 0 || !S_ISDIR(info.st_mode))
		return 0;
	snprintf(path, sizeof(path), "%.4100s/kcore", folder);
	status = elf_kernel_file_open(path, &kernel->core);
	if (status)
		return status;
	snprintf(path, sizeof(path), "%.4100s/kallsyms", folder);
	status = elf_kernel_images_read(path, &kernel->images);
	return status == PTL_SYSTEM ? common_fail_in(status, "%s", path) : status;
}

static int open_folder(struct perf_kernel *kernel, const char *folder)
{
	int status = read_folder(kernel, folder);

	if (status && status != PTL_NO_MEMORY)
		snprintf(kernel->flaw, sizeof(kernel->flaw), "%s", ptl_error_text());
	return status == PTL_NO_MEMORY ? status : 0;
}

int perf_kernel_open(struct perf_import *import)
{
	char path[4100];

	snprintf(path, sizeof(path), "%.4000s/kcore_dir", import->folder);
	return open_folder(&import->kernel, path);
}

int perf_kernel_of(struct perf_import *import, uint32_t machine, struct perf_kernel **kernel)
{
	struct perf_kernel **own = &import->guest_kernels[machine];
	char path[4100];

	*kernel = machine ? *own : &import->kernel;
	if (*kernel)
		return 0;
	*kernel = *own = calloc(1, sizeof(**own));
	if (!*own)
		return common_fail_memory("a kernel", sizeof(**own));
	(*own)->machine = machine;
	snprintf(path, sizeof(path), "%.4000s/kcore_dir__%u", import->folder, import->guests.pids[machine - 1]);
	return open_folder(*own, path);
}

static void free_kernel(struct perf_kernel *kernel)
{
	elf_kernel_file_close(kernel->core);
	elf_kernel_file_close(kernel->file);
	elf_kernel_images_free(&kernel->images);
	perf_bpf_free(&kernel->bpf);
	*kernel = (struct perf_kernel){0};
}

void perf_kernel_free(struct perf_import *import)
{
	free_kernel(&import->kernel);
	for (size_t i = 1; i <= PTL_MACHINE_MAX; i++) {
		if (import->guest_kernels[i])
			free_kernel(import->guest_kernels[i]);
		free(import->guest_kernels[i]);
	}
}

/* ---- symbols --------------------------------------------------------------------------------- */

/* Stores symbols with addresses of the kernel. The trace has addresses relative to image->default_base. */
static int put_symbols(struct perf_import *import, const struct ptl_symbol *symbols, size_t count,
		       struct ptl_image_event *image)
{
	const struct elf_image_sink sink = perf_image_sink(import);
	struct ptl_symbol *own = reallocarray(NULL, count + 1, sizeof(*own));
	struct ptl_bytes encoded = {0};
	int status;

	if (!own)
		return common_fail_memory("symbols of the kernel", (count + 1) * sizeof(*own));
	for (size_t i = 0; i < count; i++) {
		own[i] = symbols[i];
		own[i].address += image->default_base - image->base;
	}
	status = ptl_symbols_encode(own, count, &encoded);
	free(own);
	if (status == 0)
		status = sink.blob(sink.context, PTL_BLOB_SYMBOLS, encoded.data, encoded.size, image->symbols);
	image->has_symbols = status == 0;
	common_bytes_free(&encoded);
	return status;
}

/* Returns the index of the first symbol at or behind the address. */
static size_t first_symbol(const struct elf_symbol_list *symbols, uint64_t address)
{
	return COMMON_PARTITION(symbols->count, i, symbols->list[i].address < address);
}

/* Stores the symbols of kallsyms in the image's range. */
static int put_listed_symbols(struct perf_import *import, const struct perf_kernel *kernel,
			      struct ptl_image_event *image)
{
	const struct elf_symbol_list *symbols = &kernel->images.symbols;
	const size_t first = first_symbol(symbols, image->base);
	size_t end = first;

	if (import->embed < ELF_EMBED_SYMBOLS)
		return 0;
	while (end < symbols->count && symbols->list[end].address - image->base < image->size)
		end++;
	return end > first ? put_symbols(import, symbols->list + first, end - first, image) : 0;
}

/* ---- code ------------------------------------------------------------------------------------ */

void perf_kernel_unread(struct perf_kernel *kernel, const char *name)
{
	const size_t used = strlen(kernel->unread_names);

	kernel->unread++;
	if (used + strlen(name) + sizeof(", ") <= sizeof(kernel->unread_names))
		snprintf(kernel->unread_names + used, sizeof(kernel->unread_names) - used, "%s%s", used ? ", " : "",
			 name);
}

static int put_code(struct perf_import *import, const uint8_t *code, size_t size, struct ptl_image_event *image)
{
	const struct elf_image_sink sink = perf_image_sink(import);

	image->has_code = true;
	return sink.blob(sink.context, PTL_BLOB_CODE, code, size, image->code);
}

/* Stores the image's bytes of an ELF file. bias: distance of the image from the file's addresses. */
static int put_file_code(struct perf_import *import, const struct elf_kernel_file *file, uint64_t bias,
			 struct ptl_image_event *image)
{
	const size_t size = image->size < IMAGE_MAX ? (size_t)image->size : IMAGE_MAX;
	uint8_t *bytes = malloc(size);
	size_t got;
	int status = 0;

	if (!bytes)
		return common_fail_memory("code of the kernel", size);
	got = elf_kernel_file_read(file, image->base - bias, bytes, size);
	if (got)
		status = put_code(import, bytes, got, image);
	free(bytes);
	return status;
}

/* Opens the kernel's file in perf's cache (perf buildid-cache --add vmlinux). */
static bool open_cached(const struct perf_import *import, const struct perf_mapping *mapping,
			struct elf_kernel_file **file, char path[ELF_KERNEL_PATH])
{
	struct stat info;
	const int fd = perf_image_cached(import, mapping, "elf", path, ELF_KERNEL_PATH, &info);

	if (fd >= 0)
		close(fd);
	return fd >= 0 && elf_kernel_file_open(path, file) == 0;
}

/* Searches the kernel's file by build id. The release of a virtual machine's kernel is unknown. */
static void find_file(struct perf_import *import, struct perf_kernel *kernel, const struct ptl_image_event *image)
{
	const char *release = *import->machine.kernel && !kernel->machine ? import->machine.kernel : NULL;
	struct perf_mapping mapping = {.id = {.size = (uint8_t)image->build_id_size}};
	char path[ELF_KERNEL_PATH];

	if (kernel->file || !image->build_id_size || image->build_id_size > sizeof(mapping.id.bytes))
		return;
	memcpy(mapping.id.bytes, image->build_id, image->build_id_size);
	if (open_cached(import, &mapping, &kernel->file, path) ||
	    elf_kernel_find_file("", release, image->build_id, image->build_id_size, &kernel->file, path) == 0)
		snprintf(kernel->file_path, sizeof(kernel->file_path), "%.500s", path);
}

/* Adds the code of the kernel itself, of kcore or of the kernel's file. */
static int put_kernel_code(struct perf_import *import, struct perf_kernel *kernel, bool own,
			   struct ptl_image_event *image)
{
	uint64_t linked;
	int status = 0;

	if (import->embed == ELF_EMBED_NONE)
		return 0;
	if (kernel->core)
		status = put_file_code(import, kernel->core, 0, image);
	else if (own && import->aux_kernel)
		find_file(import, kernel, image);
	if (!status && own && kernel->file && elf_kernel_file_text(kernel->file, &linked))
		status = put_file_code(import, kernel->file, image->base - linked, image);
	if (!image->has_code)
		perf_kernel_unread(kernel, image->file_name);
	return status;
}

/*
 * Adds names and build id of a module's file. The file's code cannot replace the loaded code: the kernel relocates and
 * patches modules.
 */
static int put_module_names(struct perf_import *import, const struct perf_mapping *mapping,
			    struct ptl_image_event *image)
{
	struct stat info;
	bool other;
	int fd, status;

	if (mapping->path[0] != '/' || import->embed < ELF_EMBED_SYMBOLS)
		return 0;
	fd = perf_image_open(import, mapping, &info, &other);
	if (fd < 0) {
		import->outcome.other_files += other;
		import->outcome.absent_files += !other;
		return 0;
	}
	status = elf_image_store_file(import->images, fd, &info, mapping->offset, 0, image);
	close(fd);
	return status;
}

int perf_kernel_image(struct perf_import *import, const struct perf_mapping *mapping, struct ptl_image_event *image)
{
	const bool own = perf_kernel_is_name(mapping->path);
	struct perf_kernel *kernel;
	int status = perf_kernel_of(import, mapping->machine, &kernel);
	const bool listed = !status && kernel->images.symbols.count;

	if (!status && own)
		status = perf_kernel_names(import, kernel, image);
	else if (!status && !listed && !kernel->machine)
		status = put_module_names(import, mapping, image);
	if (!status && listed)
		status = put_listed_symbols(import, kernel, image);
	return status ? status : put_kernel_code(import, kernel, own, image);
}

/* ---- code made at run time ------------------------------------------------------------------- */

static int write_image(struct perf_import *import, uint32_t pid, const struct ptl_image_event *image,
		       const struct ptl_event *at, bool rundown)
{
	struct ptl_event event = {0};
	int status;

	import->storage.size = 0;
	status = ptl_image_encode(image, rundown ? PTL_OPCODE_START_RUNDOWN : PTL_OPCODE_LOAD, &import->storage,
				  &event);
	if (status)
		return status;
	event.time = at->time;
	event.cpu = at->cpu;
	event.pid = event.tid = pid;
	return perf_event_write(import, &event);
}

int perf_kernel_made(struct perf_import *import, struct perf_kernel *kernel, struct ptl_image_event *image,
		     const uint8_t *code, const struct ptl_event *at)
{
	const uint32_t pid = perf_guests_id(kernel->machine, 0);
	const bool rundown = at->time == import->machine.start_time;
	const char *name = image->file_name;
	const struct ptl_symbol symbol = {.address = image->base, .size = image->size, .name = name, .type = 't'};
	char bracketed[600];
	int status = perf_process_need(import, pid, at->time);

	image->process_id = pid;
	image->default_base = image->base;
	image->protection = PROT_READ | PROT_EXEC;
	if (!status && code)
		status = put_code(import, code, (size_t)image->size, image);
	else if (!status && rundown && kernel->core && import->embed != ELF_EMBED_NONE)
		status = put_file_code(import, kernel->core, 0, image);
	if (!status && import->embed >= ELF_EMBED_SYMBOLS)
		status = put_symbols(import, &symbol, 1, image);
	snprintf(bracketed, sizeof(bracketed), "[%.512s]", name);
	image->file_name = bracketed;
	if (!status)
		status = write_image(import, pid, image, at, rundown);
	image->file_name = name;
	return status;
}

static int begin_kernel(struct perf_import *import, struct perf_kernel *kernel)
{
	const struct elf_kernel_images *images = &kernel->images;
	const struct ptl_event start = {.time = import->machine.start_time, .cpu = PTL_NO_CPU};
	int status = 0;

	for (size_t i = 0; !status && i < images->count; i++) {
		const struct elf_kernel_image *made = &images->list[i];
		struct ptl_image_event image = {.base = made->base, .size = made->size, .file_name = made->name};

		if (made->made)
			status = perf_kernel_made(import, kernel, &image, NULL, &start);
	}
	return status;
}

int perf_kernel_begin(struct perf_import *import)
{
	int status = 0;

	for (uint32_t machine = 0; !status && machine <= import->guests.count; machine++) {
		struct perf_kernel *kernel;

		status = perf_kernel_of(import, machine, &kernel);
		if (!status)
			status = begin_kernel(import, kernel);
	}
	return status;
}

/* ---- losses ---------------------------------------------------------------------------------- */

static int lose_code(struct perf_import *import, const struct perf_kernel *kernel, uint64_t count, const char *cause)
{
	struct perf_outcome *outcome = &import->outcome;
	char named[PERF_CAUSE_SIZE + 64];
	const struct ptl_loss loss = {.kind = PTL_LOSS_CODE,
				      .stream = PTL_NO_ID,
				      .pid = perf_guests_id(kernel->machine, 0),
				      .tid = PTL_NO_ID,
				      .count = count,
				      .cause = named};

	if (kernel->machine)
		snprintf(named, sizeof(named), "virtual machine of process %u: %s",
			 import->guests.pids[kernel->machine - 1], cause);
	else
		snprintf(named, sizeof(named), "%s", cause);
	/* The trace has all losses. */
	if (outcome->kernel_loss_count < PERF_KERNEL_LOSSES)
		snprintf(outcome->kernel_losses[outcome->kernel_loss_count++], PERF_CAUSE_SIZE, "%.*s",
			 PERF_CAUSE_SIZE - 1, named);
	return ptl_writer_loss(import->writer, &loss);
}

static int lose_of_kernel(struct perf_import *import, const struct perf_kernel *kernel)
{
	char cause[PERF_CAUSE_SIZE];
	int status = 0;

	if (*kernel->flaw) {
		snprintf(cause, sizeof(cause), "kcore_dir is not read: %s", kernel->flaw);
		status = lose_code(import, kernel, 1, cause);
	}
	if (status || !import->aux_kernel)
		return status;
	if (kernel->file) {
		snprintf(cause, sizeof(cause),
			 "code of the kernel is that of its file %s: what the kernel changed in itself since its start "
			 "is not known (perf record --kcore copies the code)",
			 kernel->file_path);
		status = lose_code(import, kernel, 1, cause);
	}
	if (status || !kernel->unread)
		return status;
	snprintf(cause, sizeof(cause), "%s: what %s executed is a gap",
		 kernel->core ? "kcore does not have all code of the kernel"
			      : "perf.data has no code of the kernel (perf record --kcore copies the code)",
		 kernel->unread_names);
	return lose_code(import, kernel, kernel->unread, cause);
}

int perf_kernel_lose(struct perf_import *import)
{
	int status = lose_of_kernel(import, &import->kernel);

	for (size_t i = 1; !status && i <= PTL_MACHINE_MAX; i++)
		if (import->guest_kernels[i])
			status = lose_of_kernel(import, import->guest_kernels[i]);
	return status;
}
