/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps the ranges of a decoder's code in order, and reads pages at first use. */
#include "flow/decoder/code.h"

#include <stdlib.h>
#include <string.h>

#include "common/partition.h"
#include "common/vector.h"
#include "flow/engine/flow.h"

/* Returns the index of the first range that ends at or behind ip. */
static size_t range_at(const struct decoder_code *code, uint64_t ip)
{
	return COMMON_PARTITION(code->range_count, i, code->ranges[i].last < ip);
}

static void insert_range(struct decoder_code *code, size_t at, const struct flow_code_range *range)
{
	memmove(&code->ranges[at + 1], &code->ranges[at], (code->range_count - at) * sizeof(*code->ranges));
	code->ranges[at] = *range;
	code->range_count++;
}

/* Removes the addresses from the range at `at`. Keeps the parts before and behind. The array has room. */
static void cut_range(struct decoder_code *code, size_t at, uint64_t first, uint64_t last)
{
	struct flow_code_range behind = code->ranges[at];
	struct flow_code_range *range = &code->ranges[at];

	if (range->last > last) {
		behind.bytes += last + 1 - behind.first;
		behind.first = last + 1;
		insert_range(code, at + 1, &behind);
		range = &code->ranges[at];
	}
	if (range->first < first) {
		range->last = first - 1;
		return;
	}
	memmove(range, range + 1, (code->range_count - at - 1) * sizeof(*range));
	code->range_count--;
}

int decoder_code_add(struct decoder_code *code, uint64_t first, uint64_t last, const uint8_t *bytes)
{
	/* One range may be cut in two, and one range is added. */
	int status = COMMON_VECTOR_RESERVE(code->ranges, code->range_capacity, code->range_count + 2, "code");
	size_t at = range_at(code, first);

	if (status)
		return status;
	while (at < code->range_count && code->ranges[at].first <= last) {
		const bool before = code->ranges[at].first < first;

		cut_range(code, at, first, last);
		at += before;
	}
	if (bytes)
		insert_range(code, at,
			     &(struct flow_code_range){
				     .first = first,
				     .last = last,
				     .bytes = bytes,
				     .image = code->next_image,
			     });
	code->next_image++;
	return 0;
}

int decoder_code_copy(struct decoder_code *code, const struct decoder_code *from)
{
	int status = COMMON_VECTOR_RESERVE(code->ranges, code->range_capacity, from->range_count + 1, "code");

	if (status)
		return status;
	if (from->range_count)
		memcpy(code->ranges, from->ranges, from->range_count * sizeof(*from->ranges));
	code->range_count = from->range_count;
	code->next_image = from->next_image;
	return 0;
}

/* Reads the bytes of the range. Returns NULL if there is no code, or without memory. */
static struct decoder_page *read_page(struct decoder_code *code, const struct flow_code_range *range)
{
	const size_t size = (size_t)(range->last - range->first + 1);
	struct decoder_page *page = malloc(sizeof(*page) + size);

	if (!page) {
		code->no_memory = true;
		return NULL;
	}
	if (!code->reader.read(code->reader.context, range->first, page->bytes, size)) {
		free(page);
		return NULL;
	}
	page->next = code->page_list;
	code->page_list = page;
	code->page_bytes += sizeof(*page) + size;
	return page;
}

/* Fills a hole within a page. */
static void find_page(struct decoder_code *code, struct flow_code_range *hole)
{
	const uint64_t *known = common_hash_map_get(&code->pages, hole->first);
	struct decoder_page *page = known ? (struct decoder_page *)(uintptr_t)*known : NULL;

	if (!known) {
		page = read_page(code, hole);
		if (common_hash_map_put(&code->pages, hole->first, (uintptr_t)page) < 0)
			code->no_memory = true;
	}
	hole->bytes = page ? page->bytes : NULL;
}

void decoder_code_find(void *context, uint64_t ip, struct flow_code_range *range)
{
	struct decoder_code *code = context;
	const size_t at = range_at(code, ip);
	const uint64_t page = ip & ~(DECODER_PAGE - 1);

	if (at < code->range_count && code->ranges[at].first <= ip) {
		*range = code->ranges[at];
		return;
	}
	*range = (struct flow_code_range){
		.first = at ? code->ranges[at - 1].last + 1 : 0,
		.last = at < code->range_count ? code->ranges[at].first - 1 : UINT64_MAX,
		.image = FLOW_NONE,
	};
	if (!code->reader.read)
		return;
	if (range->first < page)
		range->first = page;
	if (range->last > page + (DECODER_PAGE - 1))
		range->last = page + (DECODER_PAGE - 1);
	find_page(code, range);
}

void decoder_code_forget(struct decoder_code *code, uint64_t first, uint64_t last)
{
	uint64_t address, page;
	size_t at = 0;

	/* A removal may move pairs of the map, so the walk begins again. */
	while (common_hash_map_next(&code->pages, &at, &address, &page)) {
		if (address <= last && (address | (DECODER_PAGE - 1)) >= first) {
			common_hash_map_remove(&code->pages, address);
			at = 0;
		}
	}
}

struct decoder_page *decoder_code_release(struct decoder_code *code)
{
	struct decoder_page *list = code->page_list;

	common_hash_map_free(&code->pages);
	code->pages = (struct common_hash_map){0};
	code->page_list = NULL;
	code->page_bytes = 0;
	return list;
}

void decoder_pages_free(struct decoder_page *list)
{
	while (list) {
		struct decoder_page *next = list->next;

		free(list);
		list = next;
	}
}

void decoder_code_close(struct decoder_code *code)
{
	decoder_pages_free(decoder_code_release(code));
	free(code->ranges);
	*code = (struct decoder_code){0};
}
