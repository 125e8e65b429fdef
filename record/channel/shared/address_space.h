/* SPDX-License-Identifier: BSD-2-Clause */
/* The runtime's model of executable memory: images, and code bytes sent so far. */

#ifndef RECORD_CHANNEL_SHARED_ADDRESS_SPACE_H
#define RECORD_CHANNEL_SHARED_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHANNEL_PAGE 4096ull

/* A mapping that is or was executable. */
struct channel_image {
	uint64_t base;
	uint64_t end;
	uint64_t file_offset;
	uint64_t device;
	uint64_t inode;
	char *path;          /* NULL without a file */
	uint32_t protection; /* PROT_* */
	uint32_t flags;      /* enum channel_image_flag */
	bool executable;
	bool have; /* the recorder has the code bytes */
};

/* A page with code bytes that were sent. */
struct channel_page {
	struct channel_page *next;
	uint64_t address;
	uint8_t known[CHANNEL_PAGE / 8]; /* a bit per byte */
	uint8_t bytes[CHANNEL_PAGE];
};

/* Images are sorted by base, and do not overlap. The caller holds a lock. */
struct channel_address_space {
	struct channel_image *images;
	size_t count;
	size_t capacity;
	struct channel_page **chains;
	size_t chain_count;
	size_t page_count;
};

/* Returns the image at the address, valid until the next change; NULL without an image. */
struct channel_image *channel_space_find(const struct channel_address_space *space, uint64_t address);

/* Returns the index of the first image that ends above the address; space->count without such an image. */
size_t channel_space_index(const struct channel_address_space *space, uint64_t address);

/*
 * Adds an image with a copy of its path. Replaces overlapping images, and forgets the code bytes there. Returns 0 or
 * -ENOMEM.
 */
int channel_space_add(struct channel_address_space *space, const struct channel_image *image);

/* Removes [base, end) from all images, and forgets the code bytes there. Returns true if an image was there. */
bool channel_space_remove(struct channel_address_space *space, uint64_t base, uint64_t end);

/* Splits an image that spans `at`. Returns 0 or -ENOMEM. */
int channel_space_split(struct channel_address_space *space, uint64_t at);

enum channel_learned {
	CHANNEL_LEARNED_NOTHING, /* all bytes are known with the same values */
	CHANNEL_LEARNED_MORE,    /* some bytes were unknown */
	CHANNEL_LEARNED_CHANGE,  /* some bytes had other values */
	CHANNEL_LEARNED_NO_MEMORY,
};

/* Stores code bytes of a single page. */
enum channel_learned channel_space_learn(struct channel_address_space *space, uint64_t address, const uint8_t *bytes,
					 size_t size);

/* Returns the page at this address, a multiple of CHANNEL_PAGE; NULL without known bytes. */
struct channel_page *channel_space_page(const struct channel_address_space *space, uint64_t address);

void channel_space_clear(struct channel_address_space *space);

#endif
