/* SPDX-License-Identifier: BSD-2-Clause */
/* The code of a decoder: ranges that the caller gave, and pages that a function of the caller reads. */
#ifndef FLOW_DECODER_CODE_H
#define FLOW_DECODER_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hash_map.h"
#include "flow/code/range.h"

#define DECODER_PAGE ((uint64_t)4096) /* bytes that `read` reads at most */
#define DECODER_RANGES_MAX 64         /* ranges of filters */

/* The function that reads code: see struct ptl_decoder_options. */
struct decoder_reader {
	bool (*read)(void *context, uint64_t address, void *bytes, size_t size);
	void *context;
};

/* Bytes that `read` gave, from `first` on. */
struct decoder_page {
	struct decoder_page *next;
	uint8_t bytes[];
};

struct decoder_code {
	/* Ranges in order of addresses. None overlaps another, and each has bytes. */
	struct flow_code_range *ranges;
	size_t range_count, range_capacity;
	uint32_t next_image; /* number of the next range given */
	struct decoder_reader reader;
	struct common_hash_map pages;   /* address of the struct decoder_page by first address; 0: no code there */
	struct decoder_page *page_list; /* memory of all pages, also of forgotten pages that blocks still use */
	size_t page_bytes;
	bool no_memory; /* a page could not be kept: code is missing for this reason */
};

/* Adds a range; bytes NULL: removes the addresses' code. first <= last. Returns PTL_NO_MEMORY. */
int decoder_code_add(struct decoder_code *code, uint64_t first, uint64_t last, const uint8_t *bytes);
/* Copies the ranges of another code, without pages. Returns PTL_NO_MEMORY. */
int decoder_code_copy(struct decoder_code *code, const struct decoder_code *from);
/* Finds the range with ip, or the hole around ip: the function of struct native_source. */
void decoder_code_find(void *code, uint64_t ip, struct flow_code_range *range);
/* Forgets the pages of these addresses. Their bytes stay in memory. */
void decoder_code_forget(struct decoder_code *code, uint64_t first, uint64_t last);
/* Moves the memory of all pages to a list that the caller frees by decoder_pages_free, and forgets all pages. */
struct decoder_page *decoder_code_release(struct decoder_code *code);
void decoder_pages_free(struct decoder_page *list);
void decoder_code_close(struct decoder_code *code);

#endif
