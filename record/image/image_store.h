/* SPDX-License-Identifier: BSD-2-Clause */
/* What programs map, as images of the trace. */
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

/* A mapping as the program's side describes it; nothing in it is believed. */
struct record_mapping {
	uint32_t pid; /* who mapped it and waits, so that its /proc entries can be looked at */
	uint64_t base;
	uint64_t size;
	uint64_t file_offset;
	uint64_t device; /* as st_dev */
	uint64_t inode;
	uint32_t protection;
	bool anonymous;
	bool deleted; /* its file has no name any more */
	const char *path;
	size_t path_length; /* no zero behind it */
};

/*
 * Fills *image, whose file_name is in the store's memory until the next call. If the file can be
 * opened and is the one that was mapped, its bytes are put into the trace (unless they are there),
 * and has_code, has_symbols, has_debug, build_id and default_base say what is known. What cannot be
 * had is simply not there: only PTL_NO_MEMORY and the failure of the sink are failures.
 */
int record_image_store_add(struct record_image_store *store, const struct record_mapping *mapping,
			   struct ptl_image_event *image);

/* What was put so far is in a file that is complete: it is put again where it is mapped. PTL_NO_MEMORY. */
int record_image_store_restart(struct record_image_store *store);

/*
 * To be called when a file of the trace ends: puts the names of code that was made at run time into the trace, with
 * ELF_EMBED_SYMBOLS and more (record/image/jit_files.h). PTL_NO_MEMORY, and the failure of the sink.
 */
int record_image_store_finish(struct record_image_store *store);

/* At the end, when nobody waits any more: elf_image_store_find. */
int record_image_store_find(struct record_image_store *store);

/* Files whose bytes or symbols were wanted but could not be read. */
uint64_t record_image_store_unread(const struct record_image_store *store);

#endif
