/* SPDX-License-Identifier: BSD-2-Clause */
/* Names mappings, and finds their files. */
#include "record/image/image_store.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/error.h"
#include "flow/symbol/source_store.h"
#include "record/image/jit_files.h"
#include "record/image/mapped_file.h"

#define NAME_MAX_LENGTH 4096u
#define VDSO "[vdso]"
#define VDSO_MAX 65536u
#define VDSO_PAGE 4096u

struct record_image_store {
	struct elf_image_store *files;
	struct record_jit_files *jit;      /* NULL if names are unwanted */
	struct flow_source_store *sources; /* NULL if source files are unwanted */
	enum elf_embed embed;
	struct elf_image_sink sink;
	uint64_t unread, cut_names; /* counts of earlier stores */
	char name[NAME_MAX_LENGTH + 1];
};

int record_image_store_new(enum elf_embed embed, const struct elf_image_sink *sink, struct record_image_store **store)
{
	int status;

	*store = calloc(1, sizeof(**store));
	if (!*store)
		return common_fail_memory("image store", sizeof(**store));
	(*store)->embed = embed;
	(*store)->sink = *sink;
	status = embed >= ELF_EMBED_SOURCES ? flow_source_store_new(sink, 0, &(*store)->sources) : 0;
	(*store)->sink.sources = (*store)->sources ? flow_source_store_take : NULL;
	(*store)->sink.source_context = (*store)->sources;
	if (!status)
		status = elf_image_store_new(embed, &(*store)->sink, &(*store)->files);
	if (!status && embed >= ELF_EMBED_SYMBOLS)
		status = record_jit_files_new(sink, &(*store)->jit);
	if (status) {
		record_image_store_free(*store);
		*store = NULL;
	}
	return status;
}

void record_image_store_free(struct record_image_store *store)
{
	if (!store)
		return;
	elf_image_store_free(store->files);
	record_jit_files_free(store->jit);
	flow_source_store_free(store->sources);
	free(store);
}

uint64_t record_image_store_unread(const struct record_image_store *store)
{
	return store->unread + elf_image_store_unread(store->files) +
	       (store->jit ? record_jit_files_unread(store->jit) : 0);
}

uint64_t record_image_store_cut_names(const struct record_image_store *store)
{
	return store->cut_names + elf_image_store_cut_names(store->files);
}

/*
 * Returns the mapping's name as defined in ptl/kernel.h. The kernel shows files without a name as "PATH (deleted)", and
 * memory files as "/memfd:NAME (deleted)".
 */
static const char *mapping_name_of(struct record_image_store *store, const struct record_mapping *mapping)
{
	static const char suffix[] = " (deleted)", memfd[] = "/memfd:";
	size_t length = mapping->path_length < NAME_MAX_LENGTH ? mapping->path_length : NAME_MAX_LENGTH;

	if (!length)
		return !mapping->of_kernel ? "//anon" : mapping->base >> 63 ? "[vsyscall]" : VDSO;
	memcpy(store->name, mapping->path, length);
	store->name[length] = 0;
	if (mapping->deleted && length >= strlen(suffix) && !strcmp(store->name + length - strlen(suffix), suffix))
		store->name[length - strlen(suffix)] = 0;
	return strncmp(store->name, memfd, strlen(memfd)) ? store->name : store->name + 1;
}

/* Checks whether a mapping has the size of the recorder's own vdso, which ends with section headers. */
static bool is_own_size(const Elf64_Ehdr *own, uint64_t size)
{
	const uint64_t end = own->e_shoff + (uint64_t)own->e_shnum * own->e_shentsize;

	return !memcmp(own->e_ident, ELFMAG, SELFMAG) && size <= VDSO_MAX &&
	       (end + VDSO_PAGE - 1) / VDSO_PAGE * VDSO_PAGE == size;
}

const uint8_t *record_vdso_code(const struct ptl_image_event *image)
{
	const uint8_t *own = (const uint8_t *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);

	if (strcmp(image->file_name, VDSO) || !own || image->base <= UINT32_MAX ||
	    !is_own_size((const Elf64_Ehdr *)own, image->size))
		return NULL;
	return own;
}

int record_image_store_add(struct record_image_store *store, const struct record_mapping *mapping,
			   struct ptl_image_event *image)
{
	struct stat info;
	int fd, status = store->jit ? record_jit_files_note(store->jit, mapping) : 0;

	*image = (struct ptl_image_event){
		.base = mapping->base,
		.size = mapping->size,
		.default_base = mapping->base,
		.file_name = mapping_name_of(store, mapping),
		.file_offset = mapping->file_offset,
		.protection = mapping->protection,
		.device_major = major(mapping->device),
		.device_minor = minor(mapping->device),
		.inode = mapping->inode,
	};
	/* The vdso has another address in each process. Addresses within the image begin at 0, as in the ELF header. */
	if (!strcmp(image->file_name, VDSO))
		image->default_base = 0;
	/* A file without a name may change unnoticed: its code is recorded at execution. */
	if (status || mapping->anonymous || mapping->deleted || !mapping->inode)
		return status;
	fd = record_open_mapped(mapping, &info);
	if (fd < 0)
		return 0;
	status = elf_image_store_file(store->files, fd, &info, mapping->file_offset, mapping->size, image);
	close(fd);
	return status;
}

int record_image_store_restart(struct record_image_store *store)
{
	struct elf_image_store *files;
	const int status = elf_image_store_new(store->embed, &store->sink, &files);

	if (status < 0)
		return status;
	store->unread += elf_image_store_unread(store->files);
	store->cut_names += elf_image_store_cut_names(store->files);
	elf_image_store_free(store->files);
	store->files = files;
	if (store->sources)
		flow_source_store_restart(store->sources);
	return 0;
}

int record_image_store_began(struct record_image_store *store, uint32_t pid)
{
	return store->jit ? record_jit_files_began(store->jit, pid) : 0;
}

int record_image_store_ended(struct record_image_store *store, uint32_t pid)
{
	return store->jit ? record_jit_files_ended(store->jit, pid) : 0;
}

int record_image_store_look(struct record_image_store *store, uint64_t now)
{
	return store->jit ? record_jit_files_look(store->jit, now) : 0;
}

int record_image_store_finish(struct record_image_store *store)
{
	return store->jit ? record_jit_files_put(store->jit) : 0;
}

int record_image_store_find(struct record_image_store *store)
{
	return elf_image_store_find(store->files);
}

uint64_t record_image_store_report_sources(const struct record_image_store *store)
{
	struct flow_source_counts counts = {0};

	if (!store->sources)
		return 0;
	flow_source_store_report(store->sources);
	flow_source_store_counts(store->sources, &counts);
	return counts.beyond;
}
