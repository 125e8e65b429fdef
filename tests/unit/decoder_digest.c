/* SPDX-License-Identifier: BSD-2-Clause */
/* Computes by block after block what a decoder computes by runs. */
#include "tests/unit/decoder_digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "common/hash.h"

static uint64_t add_number(uint64_t hash, uint64_t number)
{
	return (hash ^ number) * 0x100000001b3u + (hash >> 29);
}

static bool block_counts(const struct digest *digest, const struct ptl_flow_block *block)
{
	if (digest->cr3 && digest->cr3 != digest->current_cr3)
		return false;
	return !digest->last || (block->ip >= digest->first && block->ip <= digest->last);
}

static void digest_block(struct digest *digest, const struct ptl_flow_item *item)
{
	const struct ptl_flow_block *block = item->block;
	const bool counts = block_counts(digest, block);
	const uint64_t members[] = {block->ip,   block->last_ip, block->instructions, block->size,      block->branch,
				    block->mode, block->target,  item->time,          item->speculative};

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		digest->items = add_number(digest->items, members[i]);
	if (digest->cr3 && digest->cr3 != digest->current_cr3)
		return;
	if (digest->follows && counts && digest->last_counts)
		digest->counts[ptl_decoder_bitmap_index(digest->last_ip, block->ip, DIGEST_BITMAP)]++;
	if (digest->follows && counts && digest->last_calls)
		digest->calls++;
	digest->follows = true;
	digest->last_ip = block->ip;
	digest->last_counts = counts;
	digest->last_calls = block->branch == PTL_FLOW_BRANCH_CALL || block->branch == PTL_FLOW_BRANCH_CALL_INDIRECT;
	if (!counts)
		return;
	digest->instructions += block->instructions;
	digest->blocks++;
	digest->branches += block->branch != PTL_FLOW_BRANCH_NONE;
	digest->hash = digest->hash * 0x9e3779b97f4a7c15u + (block->ip + block->instructions * 0xc2b2ae3d27d4eb4fu);
}

static void digest_event(struct digest *digest, const struct ptl_flow_event *event)
{
	const uint64_t members[] = {event->kind, event->cause, event->flags, event->type,   event->item, event->value,
				    event->from, event->to,    event->time,  event->offset, event->size};

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		digest->items = add_number(digest->items, members[i]);
	if (event->kind == PTL_FLOW_PAGING && digest->cr3) {
		digest->current_cr3 = event->value & ~(uint64_t)0x1f;
		if (digest->current_cr3 != digest->cr3)
			digest->follows = false;
	}
	if (event->kind == PTL_FLOW_ENABLED && !(event->flags & PTL_FLOW_RESUMED))
		digest->follows = false;
	if (event->kind != PTL_FLOW_GAP)
		return;
	digest->follows = false;
	digest->gaps++;
	digest->gap_bytes += event->size;
	digest->overflows += event->cause == PTL_FLOW_GAP_OVERFLOW;
}

void digest_item(struct digest *digest, const struct ptl_flow_item *item)
{
	if (item->block)
		digest_block(digest, item);
	else
		digest_event(digest, item->event);
}

int digest_batch(void *context, struct ptl_flow_batch *batch)
{
	const struct ptl_flow_item *item;

	while ((item = ptl_flow_batch_next(batch)) != NULL)
		digest_item(context, item);
	return 0;
}

void digest_flow(struct digest *digest, const struct ptl_flow_raw *raw)
{
	struct ptl_flow_iterator *iterator;
	const struct ptl_flow_item *item;
	struct ptl_flow *flow;
	int status;

	assert_int_equal(ptl_flow_open_raw(raw, &flow), 0);
	assert_int_equal(ptl_flow_iterator_new(flow, NULL, &iterator), 0);
	while ((status = ptl_flow_next(iterator, &item)) > 0)
		digest_item(digest, item);
	assert_int_equal(status, 0);
	ptl_flow_iterator_free(iterator);
	ptl_flow_close(flow);
}

static void check_edges(const struct digest *digest, const struct ptl_decoder *decoder)
{
	uint32_t counts[DIGEST_BITMAP];
	size_t count;
	const struct ptl_decoder_edge *edges = ptl_decoder_edges(decoder, &count);

	memset(counts, 0, sizeof(counts));
	for (size_t i = 0; i < count; i++) {
		assert_true(edges[i].total >= edges[i].count);
		counts[ptl_decoder_bitmap_index(edges[i].from, edges[i].to, DIGEST_BITMAP)] += (uint32_t)edges[i].count;
	}
	assert_memory_equal(counts, digest->counts, sizeof(counts));
}

void digest_check(const struct digest *digest, const struct ptl_decoder *decoder, const struct ptl_decoder_sums *sums,
		  const uint8_t *bitmap)
{
	const struct ptl_decoder_function *functions;
	uint64_t calls = 0;
	size_t count;

	assert_int_equal(sums->instructions, digest->instructions);
	assert_int_equal(sums->blocks, digest->blocks);
	assert_int_equal(sums->branches, digest->branches);
	assert_int_equal(sums->hash, digest->hash);
	assert_int_equal(sums->gaps, digest->gaps);
	assert_int_equal(sums->gap_bytes, digest->gap_bytes);
	assert_int_equal(sums->overflows, digest->overflows);
	for (size_t i = 0; i < DIGEST_BITMAP; i++)
		assert_int_equal(bitmap[i], digest->counts[i] > UINT8_MAX ? UINT8_MAX : digest->counts[i]);
	check_edges(digest, decoder);
	functions = ptl_decoder_functions(decoder, &count);
	for (size_t i = 0; i < count; i++)
		calls += functions[i].count;
	assert_int_equal(calls, digest->calls);
}
