/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts files that programs map into a trace: code, symbols, debug information, each once. */
#ifndef ELF_IMAGE_STORE_H
#define ELF_IMAGE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <ptl/kernel.h>

enum elf_embed {
	ELF_EMBED_NONE,
	ELF_EMBED_CODE,
	ELF_EMBED_SYMBOLS, /* and code */
	ELF_EMBED_DEBUG,   /* and symbols */
};

struct elf_image_store;

/* Where it goes: both give 0 or a ptl_status. */
struct elf_image_sink {
	void *context;
	/* Stores a blob in the trace and gives its hash. */
	int (*blob)(void *context, uint32_t type, const void *data, size_t size, uint8_t hash[PTL_HASH_SIZE]);
	/* Says what a blob is; the same may be said again. */
	int (*attachment)(void *context, const struct ptl_attachment *attachment);
};

int elf_image_store_new(enum elf_embed embed, const struct elf_image_sink *sink, struct elf_image_store **store);
void elf_image_store_free(struct elf_image_store *store);

/*
 * Puts the bytes of the open file fd, described by info, from offset on into the trace, with its symbols and
 * debug information, unless they are there; of *image sets has_code, has_symbols, has_debug, build_id and
 * default_base. Separate debug files are looked for beside image->file_name, too. What cannot be had is simply not
 * there: only PTL_NO_MEMORY and the failure of the sink are failures.
 * With ELF_EMBED_NONE nothing is put, but the code has its hash: a reader that has the same file takes it from there.
 */
int elf_image_store_file(struct elf_image_store *store, int fd, const struct stat *info, uint64_t offset, uint64_t size,
			 struct ptl_image_event *image);

/* A file of which a trace lacks something. */
struct elf_image_lack {
	const char *path; /* where it was mapped from */
	const uint8_t *build_id;
	size_t build_id_size;
	bool symbols, debug; /* what is wanted */
	bool has_symbols;    /* dynamic ones, so that others are wanted only */
};

/* Copies it, for elf_image_store_find. PTL_NO_MEMORY. */
int elf_image_store_lack(struct elf_image_store *store, const struct elf_image_lack *lack);
/*
 * Looks for the symbols and the debug information of files that lack them, those that elf_image_store_file did not find, too: on this
 * machine, and then at the servers of elf/debuginfod.h, which it waits for. What is found is attached by build id. PTL_NO_MEMORY, and
 * the failure of the sink.
 */
int elf_image_store_find(struct elf_image_store *store);

/* Files whose bytes or symbols were wanted but could not be read. */
uint64_t elf_image_store_unread(const struct elf_image_store *store);
/* Names of functions that were cut, as elf_symbols_counted says. */
uint64_t elf_image_store_cut_names(const struct elf_image_store *store);

#endif
