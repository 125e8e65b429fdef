/* SPDX-License-Identifier: BSD-2-Clause */
/* What the plugin knows of executable memory: images, and the code bytes it has sent. */

#ifndef RECORD_QEMU_PLUGIN_ADDRESS_SPACE_H
#define RECORD_QEMU_PLUGIN_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLUGIN_PAGE 4096ull

/* A mapping that is executable, or was and may be again. */
struct plugin_image {
	uint64_t base;
	uint64_t end;
	uint64_t file_offset;
	uint64_t device;
	uint64_t inode;
	char *path;          /* NULL for anonymous memory */
	uint32_t protection; /* PROT_* */
	uint32_t flags;      /* enum qemu_image_flag */
	bool executable;
	bool have; /* its code bytes need not be sent */
};

/* A page of which code bytes have been sent. */
struct plugin_page {
	struct plugin_page *next;
	uint64_t address;
	uint8_t known[PLUGIN_PAGE / 8]; /* a bit for each byte */
	uint8_t bytes[PLUGIN_PAGE];
};

/* Images are sorted by base and do not overlap. Not locked: the caller is. */
struct plugin_address_space {
	struct plugin_image *images;
	size_t count;
	size_t capacity;
	struct plugin_page **chains;
	size_t chain_count;
	size_t page_count;
};

/* The image that holds the address; NULL if there is none. Valid until the next change. */
struct plugin_image *plugin_space_find(const struct plugin_address_space *space, uint64_t address);

/* Index of the first image that ends above the address; space->count if there is none. */
size_t plugin_space_index(const struct plugin_address_space *space, uint64_t address);

/* Adds an image (its path is copied) in place of what is there, and forgets the code bytes there. 0
 * or -ENOMEM. */
int plugin_space_add(struct plugin_address_space *space, const struct plugin_image *image);

/* Takes [base, end) out of all images and forgets the code bytes. True if any of it was executable.
 */
bool plugin_space_remove(struct plugin_address_space *space, uint64_t base, uint64_t end);

/* Makes `at` a boundary between images if one spans it. 0 or -ENOMEM. */
int plugin_space_split(struct plugin_address_space *space, uint64_t at);

enum plugin_learned {
	PLUGIN_LEARNED_NOTHING, /* all bytes are known as they are */
	PLUGIN_LEARNED_MORE,    /* some were not known */
	PLUGIN_LEARNED_CHANGE,  /* some were known otherwise */
	PLUGIN_LEARNED_NO_MEMORY,
};

/* Remembers code bytes, within one page. */
enum plugin_learned plugin_space_learn(struct plugin_address_space *space, uint64_t address, const uint8_t *bytes,
				       size_t size);

/* The page at this address (a multiple of PLUGIN_PAGE), if any of its bytes are known; else NULL. */
struct plugin_page *plugin_space_page(const struct plugin_address_space *space, uint64_t address);

/* Forgets everything. */
void plugin_space_clear(struct plugin_address_space *space);

#endif
