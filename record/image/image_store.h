/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns mappings of programs into images of the trace. */
#ifndef RECORD_IMAGE_IMAGE_STORE_H
#define RECORD_IMAGE_IMAGE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/kernel.h>

#include "elf/image_store.h"

struct record_image_store;

int record_image_store_new(enum elf_embed embed, const struct elf_image_sink *sink, struct record_image_store **store);
void record_image_store_free(struct record_image_store *store);

/* A mapping, as reported by the program. No member is trusted. */
struct record_mapping {
	uint32_t pid; /* process with the mapping, which waits, so that /proc is readable */
	uint64_t base;
	uint64_t size;
	uint64_t file_offset;
	uint64_t device; /* as st_dev */
	uint64_t inode;
	uint32_t protection;
	bool anonymous;
	bool of_kernel; /* the vdso or the vsyscall page */
	bool deleted;   /* the file has no name any more */
	const char *path;
	size_t path_length; /* without a final zero */
};

/*
 * Fills *image; its file_name is valid until the next call. Opens the mapped file if possible, and stores its bytes in
 * the trace once. has_code, has_symbols, has_debug, build_id and default_base tell the results. Unreadable files are no
 * failure.
 * Fails with PTL_NO_MEMORY, or as the sink.
 */
int record_image_store_add(struct record_image_store *store, const struct record_mapping *mapping,
			   struct ptl_image_event *image);

/*
 * Returns image->size bytes of code if *image is the vdso of a 64-bit process, else NULL. All 64-bit processes share
 * one vdso, and no file has its code: the recorder's own vdso also serves for ended processes.
 */
const uint8_t *record_vdso_code(const struct ptl_image_event *image);

/*
 * Files with names from compilers: notes a process that starts a program, or has ended; checks the files. now: in the
 * trace's clock. Fails with PTL_NO_MEMORY.
 */
int record_image_store_began(struct record_image_store *store, uint32_t pid);
int record_image_store_ended(struct record_image_store *store, uint32_t pid);
int record_image_store_look(struct record_image_store *store, uint64_t now);

/*
 * Starts a new file: stores mapped images again, because earlier images went to a completed file. Fails with
 * PTL_NO_MEMORY.
 */
int record_image_store_restart(struct record_image_store *store);

/*
 * Ends a file of the trace: writes names of code made at run time (record/image/jit_files.h), with ELF_EMBED_SYMBOLS
 * and higher. Fails with PTL_NO_MEMORY, or as the sink.
 */
int record_image_store_finish(struct record_image_store *store);

/* Runs elf_image_store_find at the end of the recording, when no program waits. */
int record_image_store_find(struct record_image_store *store);

/* Returns the number of files with unreadable bytes or symbols. */
uint64_t record_image_store_unread(const struct record_image_store *store);
/* Returns the number of cut function names. Names are cut if a file's names overlap too much to fit together. */
uint64_t record_image_store_cut_names(const struct record_image_store *store);
/* Prints which source files are not in the trace. Returns the number of files beyond the bounds. */
uint64_t record_image_store_report_sources(const struct record_image_store *store);

#endif
