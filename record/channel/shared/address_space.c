/* SPDX-License-Identifier: BSD-2-Clause */
/* The runtime's model of executable memory: images, and code bytes sent so far. */

#include "record/channel/shared/address_space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/hash.h"
#include "common/partition.h"
#include "common/vector.h"

#define FIRST_CHAIN_COUNT 256u

size_t channel_space_index(const struct channel_address_space *space, uint64_t address)
{
	return COMMON_PARTITION(space->count, at, space->images[at].end <= address);
}

struct channel_image *channel_space_find(const struct channel_address_space *space, uint64_t address)
{
	size_t index = channel_space_index(space, address);

	if (index < space->count && space->images[index].base <= address)
		return &space->images[index];
	return NULL;
}

/* Inserts a copy of the image at index. */
static int insert_at(struct channel_address_space *space, size_t index, const struct channel_image *image)
{
	struct channel_image copy = *image;

	if (!COMMON_VECTOR_GROW(space->images, space->capacity, space->count + 1))
		return -ENOMEM;
	if (image->path) {
		copy.path = strdup(image->path);
		if (!copy.path)
			return -ENOMEM;
	}
	memmove(space->images + index + 1, space->images + index,
		(space->count - index) * sizeof(struct channel_image));
	space->images[index] = copy;
	space->count++;
	return 0;
}

static void erase_at(struct channel_address_space *space, size_t index)
{
	free(space->images[index].path);
	space->count--;
	memmove(space->images + index, space->images + index + 1,
		(space->count - index) * sizeof(struct channel_image));
}

int channel_space_split(struct channel_address_space *space, uint64_t at)
{
	size_t index = channel_space_index(space, at);

	if (index == space->count || space->images[index].base >= at)
		return 0;

	struct channel_image upper = space->images[index];

	upper.file_offset += at - upper.base;
	upper.base = at;

	int status = insert_at(space, index + 1, &upper);

	if (!status)
		space->images[index].end = at;
	return status;
}

static size_t chain_of(const struct channel_address_space *space, uint64_t page)
{
	return (size_t)(common_hash_mix(page / CHANNEL_PAGE) >> 32) & (space->chain_count - 1);
}

struct channel_page *channel_space_page(const struct channel_address_space *space, uint64_t address)
{
	if (!space->chain_count)
		return NULL;
	for (struct channel_page *page = space->chains[chain_of(space, address)]; page; page = page->next)
		if (page->address == address)
			return page;
	return NULL;
}

static void grow_chains(struct channel_address_space *space)
{
	size_t old_count = space->chain_count;
	struct channel_page **old = space->chains;
	size_t count = old_count ? old_count * 4 : FIRST_CHAIN_COUNT;
	struct channel_page **chains = calloc(count, sizeof(struct channel_page *));

	if (!chains)
		return;
	space->chains = chains;
	space->chain_count = count;
	for (size_t i = 0; i < old_count; i++) {
		struct channel_page *page = old[i];

		while (page) {
			struct channel_page *next = page->next;
			struct channel_page **chain = &chains[chain_of(space, page->address)];

			page->next = *chain;
			*chain = page;
			page = next;
		}
	}
	free(old);
}

static struct channel_page *make_page(struct channel_address_space *space, uint64_t address)
{
	if (space->page_count >= space->chain_count)
		grow_chains(space);
	if (!space->chain_count)
		return NULL;

	struct channel_page *page = calloc(1, sizeof(*page));

	if (!page)
		return NULL;

	struct channel_page **chain = &space->chains[chain_of(space, address)];

	page->address = address;
	page->next = *chain;
	*chain = page;
	space->page_count++;
	return page;
}

/* Frees the chain's pages in [base, end). */
static void forget_in_chain(struct channel_address_space *space, size_t chain, uint64_t base, uint64_t end)
{
	struct channel_page **link = &space->chains[chain];

	while (*link) {
		struct channel_page *page = *link;

		if (page->address >= base && page->address < end) {
			*link = page->next;
			free(page);
			space->page_count--;
		} else {
			link = &page->next;
		}
	}
}

static void forget_pages(struct channel_address_space *space, uint64_t base, uint64_t end)
{
	if (!space->page_count)
		return;
	if ((end - base) / CHANNEL_PAGE < space->chain_count) {
		for (uint64_t page = base; page < end; page += CHANNEL_PAGE)
			forget_in_chain(space, chain_of(space, page), page, page + 1);
	} else {
		for (size_t i = 0; i < space->chain_count; i++)
			forget_in_chain(space, i, base, end);
	}
}

bool channel_space_remove(struct channel_address_space *space, uint64_t base, uint64_t end)
{
	bool any = false;
	size_t index;

	/*
	 * Without memory for a split, whole images are removed. The runtime finds the images again at their next
	 * execution.
	 */
	channel_space_split(space, base);
	channel_space_split(space, end);
	index = channel_space_index(space, base);
	while (index < space->count && space->images[index].base < end) {
		any = true;
		erase_at(space, index);
	}
	forget_pages(space, base, end);
	return any;
}

int channel_space_add(struct channel_address_space *space, const struct channel_image *image)
{
	channel_space_remove(space, image->base, image->end);
	return insert_at(space, channel_space_index(space, image->base), image);
}

enum channel_learned channel_space_learn(struct channel_address_space *space, uint64_t address, const uint8_t *bytes,
					 size_t size)
{
	uint64_t start = address & ~(CHANNEL_PAGE - 1);
	size_t offset = (size_t)(address - start);
	struct channel_page *page = channel_space_page(space, start);
	enum channel_learned result = CHANNEL_LEARNED_NOTHING;

	if (!page)
		page = make_page(space, start);
	if (!page)
		return CHANNEL_LEARNED_NO_MEMORY;
	for (size_t i = 0; i < size; i++) {
		bool known = page->known[(offset + i) / 8] >> (offset + i) % 8 & 1;

		if (known && page->bytes[offset + i] != bytes[i]) {
			result = CHANNEL_LEARNED_CHANGE;
			break;
		}
		if (!known)
			result = CHANNEL_LEARNED_MORE;
	}
	if (result == CHANNEL_LEARNED_NOTHING)
		return result;
	for (size_t i = 0; i < size; i++)
		page->known[(offset + i) / 8] |= (uint8_t)(1 << (offset + i) % 8);
	memcpy(page->bytes + offset, bytes, size);
	return result;
}

void channel_space_clear(struct channel_address_space *space)
{
	for (size_t i = 0; i < space->chain_count; i++)
		forget_in_chain(space, i, 0, UINT64_MAX);
	for (size_t i = 0; i < space->count; i++)
		free(space->images[i].path);
	free(space->images);
	free(space->chains);
	*space = (struct channel_address_space){0};
}
