/* SPDX-License-Identifier: BSD-2-Clause */
/* What the plugin knows of executable memory: images, and the code bytes it has sent. */

#ifndef PTL_RECORD_QEMU_PLUGIN_ADDRESS_SPACE_H
#define PTL_RECORD_QEMU_PLUGIN_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PQ_PAGE 4096ull

/* A mapping that is executable, or was and may be again. */
struct pq_image {
	uint64_t base;
	uint64_t end;
	uint64_t file_offset;
	uint64_t device;
	uint64_t inode;
	char *path;          /* NULL for anonymous memory */
	uint32_t protection; /* PROT_* */
	uint32_t flags;      /* enum ptl_image_flag */
	bool executable;
	bool have; /* its code bytes need not be sent */
};

/* A page of which code bytes have been sent. */
struct pq_page {
	struct pq_page *next;
	uint64_t address;
	uint8_t known[PQ_PAGE / 8]; /* a bit for each byte */
	uint8_t bytes[PQ_PAGE];
};

/* Images are sorted by base and do not overlap. Not locked: the caller is. */
struct pq_address_space {
	struct pq_image *images;
	size_t count;
	size_t capacity;
	struct pq_page **chains;
	size_t chain_count;
	size_t page_count;
};

/* The image that holds the address; NULL if there is none. Valid until the next change. */
struct pq_image *pq_space_find(const struct pq_address_space *space, uint64_t address);

/* Index of the first image that ends above the address; space->count if there is none. */
size_t pq_space_index(const struct pq_address_space *space, uint64_t address);

/* Adds an image (its path is copied) in place of what is there, and forgets the code bytes there. 0
 * or -ENOMEM. */
int pq_space_add(struct pq_address_space *space, const struct pq_image *image);

/* Takes [base, end) out of all images and forgets the code bytes. True if any of it was executable.
 */
bool pq_space_remove(struct pq_address_space *space, uint64_t base, uint64_t end);

/* Makes `at` a boundary between images if one spans it. 0 or -ENOMEM. */
int pq_space_split(struct pq_address_space *space, uint64_t at);

enum pq_learned {
	PQ_LEARNED_NOTHING, /* all bytes are known as they are */
	PQ_LEARNED_MORE,    /* some were not known */
	PQ_LEARNED_CHANGE,  /* some were known otherwise */
	PQ_LEARNED_NO_MEMORY,
};

/* Remembers code bytes, within one page. */
enum pq_learned pq_space_learn(struct pq_address_space *space, uint64_t address,
			       const uint8_t *bytes, size_t size);

/* The page at this address (a multiple of PQ_PAGE), if any of its bytes are known; else NULL. */
struct pq_page *pq_space_page(const struct pq_address_space *space, uint64_t address);

/* Forgets everything. */
void pq_space_clear(struct pq_address_space *space);

#endif
