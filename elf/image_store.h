/* SPDX-License-Identifier: BSD-2-Clause */
/* Stores mapped files in a trace: code, symbols, debug information, each once. */
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
	ELF_EMBED_SYMBOLS, /* symbols and code */
	ELF_EMBED_DEBUG,   /* debug information, symbols and code */
	ELF_EMBED_SOURCES, /* source files, and all of the above */
};

struct elf_image_store;

/* Destination of the data. The functions return 0 or a ptl_status. */
struct elf_image_sink {
	void *context;
	/* Stores a blob in the trace and returns its hash. */
	int (*blob)(void *context, uint32_t type, const void *data, size_t size, uint8_t hash[PTL_HASH_SIZE]);
	/* Describes a blob. The same description may be given again. */
	int (*attachment)(void *context, const struct ptl_attachment *attachment);
	/*
	 * For ELF_EMBED_SOURCES: stores the source files of an open file whose debug information is in the trace. image:
	 * path of the mapped file. May be NULL.
	 */
	int (*sources)(void *source_context, int fd, const char *image);
	void *source_context;
};

int elf_image_store_new(enum elf_embed embed, const struct elf_image_sink *sink, struct elf_image_store **store);
void elf_image_store_free(struct elf_image_store *store);

/*
 * Stores the bytes [offset, offset + size) of the open file fd, described by *info, in the trace, with its symbols and
 * debug information, unless the trace has them. Also searches separate debug files beside image->file_name. Sets
 * has_code, has_symbols, has_debug, build_id and default_base of *image.
 * Unavailable data is left out: only PTL_NO_MEMORY and failures of the sink are returned. With ELF_EMBED_NONE nothing
 * is stored, but the code's hash is computed, so that a reader can use its own copy of the file.
 */
int elf_image_store_file(struct elf_image_store *store, int fd, const struct stat *info, uint64_t offset, uint64_t size,
			 struct ptl_image_event *image);

/* A file whose symbols or debug information a trace lacks. */
struct elf_image_lack {
	const char *path; /* path of the mapped file */
	const uint8_t *build_id;
	size_t build_id_size;
	bool symbols, debug; /* the data wanted */
	bool has_symbols;    /* the trace has the dynamic symbols, so only a full symbol table is wanted */
};

/* Copies the description for elf_image_store_find. PTL_NO_MEMORY. */
int elf_image_store_lack(struct elf_image_store *store, const struct elf_image_lack *lack);
/*
 * Searches missing symbols and debug information, including the files that elf_image_store_file did not find: first on
 * this machine, then on the servers of elf/debuginfod.h, whose answers are awaited. Attaches the results by build id.
 * PTL_NO_MEMORY, and failures of the sink.
 */
int elf_image_store_find(struct elf_image_store *store);

/* Returns the number of files whose wanted bytes or symbols could not be read. */
uint64_t elf_image_store_unread(const struct elf_image_store *store);
/* Returns the number of dropped function names, as counted by elf_symbols_counted. */
uint64_t elf_image_store_cut_names(const struct elf_image_store *store);

#endif
