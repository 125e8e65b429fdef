/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks a PT stream: reads pieces, decodes packets, resynchronises at PSBs. */
#include "flow/segment/packet_walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "format/pt/decode.h"

#define PIECE_SIZE ((size_t)256 << 10)
/* bytes for a packet, and for a PSB that may begin within the packet */
#define LOOK_AHEAD ((size_t)PTL_PT_PACKET_MAX + PTL_PT_PSB_SIZE + 1)

static void lose_sync(struct flow_packet_walk *walk, uint64_t from, const char *cause)
{
	walk->synced = false;
	walk->skipped_from = from;
	snprintf(walk->cause, sizeof(walk->cause), "%s", cause);
}

int flow_packet_walk_start(struct flow_packet_walk *walk, struct ptl_trace *trace, uint32_t stream, uint64_t from,
			   uint64_t end, struct flow_errata errata)
{
	*walk = (struct flow_packet_walk){
		.trace = trace, .stream = stream, .end = end, .offset = from, .errata = errata};
	lose_sync(walk, from, "before the first PSB");
	walk->data = malloc(PIECE_SIZE);
	return walk->data ? 0 : common_fail_memory("a piece of a PT stream", PIECE_SIZE);
}

void flow_packet_walk_free(struct flow_packet_walk *walk)
{
	free(walk->data);
	walk->data = NULL;
}

/* Moves the bytes from `at` to the front, and fills the rest of the buffer. */
static int fill_buffer(struct flow_packet_walk *walk)
{
	walk->size -= walk->at;
	memmove(walk->data, walk->data + walk->at, walk->size);
	walk->offset += walk->at;
	walk->at = 0;
	while (walk->size < PIECE_SIZE) {
		uint64_t hole;
		size_t read;
		int status = ptl_stream_read(walk->trace, walk->stream, walk->offset + walk->size,
					     walk->data + walk->size, PIECE_SIZE - walk->size, &read, &hole);

		if (status < 0)
			return status;
		if (!read) {
			walk->complete = true;
			break;
		}
		walk->size += read;
	}
	return 0;
}

/* Handles the end of the data: the stream ends, or has a hole. */
static int at_hole(struct flow_packet_walk *walk, struct flow_packet_item *item)
{
	uint64_t hole;
	size_t read;
	uint8_t byte;
	int status;

	walk->offset += walk->size;
	walk->size = walk->at = 0;
	if (walk->offset >= walk->end)
		return 0;
	status = ptl_stream_read(walk->trace, walk->stream, walk->offset, &byte, 1, &read, &hole);
	if (status < 0 || read || !hole)
		return status;
	item->type = FLOW_PACKET_ITEM_LOST;
	item->offset = walk->offset;
	item->size = hole;
	snprintf(item->cause, sizeof(item->cause), "buffers are missing or damaged");
	walk->offset += hole;
	walk->complete = false;
	lose_sync(walk, walk->offset, "after lost bytes");
	return 1;
}

/* Makes an item of the bytes before stream offset `to`, which are no packets. Returns 0 if there are no such bytes. */
static int skipped(struct flow_packet_walk *walk, uint64_t to, struct flow_packet_item *item)
{
	if (to > walk->end)
		to = walk->end;
	if (to <= walk->skipped_from)
		return 0;
	item->type = FLOW_PACKET_ITEM_SKIPPED;
	item->offset = walk->skipped_from;
	item->size = to - walk->skipped_from;
	memcpy(item->cause, walk->cause, sizeof(item->cause));
	walk->skipped_from = to;
	return 1;
}

/* Looks for a PSB. Returns 1 if item describes skipped bytes; 0 if the walk is synchronised or all data is used up. */
static int find_sync(struct flow_packet_walk *walk, struct flow_packet_item *item)
{
	for (;;) {
		size_t psb = ptl_pt_find_psb(walk->data, walk->size, walk->at);
		int status;

		/* A PSB at the end of the data may still prove to be the end of another packet. */
		if (psb < walk->size && (psb + PTL_PT_PSB_SIZE + 1 < walk->size || walk->complete)) {
			walk->at = psb;
			walk->synced = true;
			walk->context = (struct ptl_pt_context){0};
			return skipped(walk, walk->offset + psb, item);
		}
		if (walk->complete) {
			walk->at = walk->size;
			return skipped(walk, walk->offset + walk->size, item);
		}
		if (psb < walk->size)
			walk->at = psb;
		else if (walk->size - walk->at >= PTL_PT_PSB_SIZE)
			walk->at = walk->size - (PTL_PT_PSB_SIZE - 1);
		if (walk->offset + walk->at >= walk->end) {
			walk->complete = true;
			walk->size = walk->at;
			continue;
		}
		status = fill_buffer(walk);
		if (status < 0)
			return status;
	}
}

/*
 * Checks whether the packet is cut off and contains the beginning of a PSB. Returns the number of bytes before the PSB;
 * 0: the packet is complete.
 */
static size_t cut_by_psb(const uint8_t *data, size_t left, size_t size)
{
	const size_t searched = size + PTL_PT_PSB_SIZE + 1;
	size_t psb;

	/* The PSB would continue behind the packet. */
	if (size < 2 || size >= left ||
	    (data[size - 1] ^ data[size]) != ((FORMAT_PT_MATCH_PSB >> 8) ^ (FORMAT_PT_MATCH_PSB & 0xff)))
		return 0;
	psb = ptl_pt_find_psb(data, searched < left ? searched : left, 1);
	return psb < size ? psb : 0;
}

/* Checks whether flow_errata_mend made the packet a PAD. */
static bool is_damaged(const struct ptl_pt_packet *packet, const uint8_t *data)
{
	return packet->kind == PTL_PT_PAD && *data;
}

/* Reads the next packet into item. Returns 1; 0 if the bytes are no packet: then the walk is no longer synchronised. */
static int next_packet(struct flow_packet_walk *walk, struct flow_packet_item *item)
{
	const uint8_t *data = walk->data + walk->at;
	size_t left = walk->size - walk->at;
	int size = flow_errata_read(&walk->errata, data, left, &walk->context, &item->packet);
	size_t cut = size > 0 ? cut_by_psb(data, left, (size_t)size) : 0;
	uint64_t ip;

	if (size < 0 || cut) {
		char cause[sizeof(walk->cause)];

		ptl_pt_explain(data, cut ? cut : left, cut ? PTL_TRUNCATED : size, cause, sizeof(cause));
		lose_sync(walk, walk->offset + walk->at, cause);
		walk->at++;
		return 0;
	}
	item->type = is_damaged(&item->packet, data) ? FLOW_PACKET_ITEM_DAMAGED : FLOW_PACKET_ITEM_PACKET;
	item->offset = walk->offset + walk->at;
	item->size = (uint64_t)size;
	item->bytes = data;
	item->last_ip = walk->last_ip;
	ptl_pt_ip_resolve(&item->packet, &walk->last_ip, &ip);
	walk->at += (size_t)size;
	if (item->type == FLOW_PACKET_ITEM_DAMAGED)
		snprintf(item->cause, sizeof(item->cause), "%s",
			 size == 1 ? "CYC that OVF overwrites (erratum SKD007)" : "wrong TMA (erratum SKZ84)");
	return 1;
}

int flow_packet_walk_next(struct flow_packet_walk *walk, struct flow_packet_item *item)
{
	for (;;) {
		int status = 0;

		if (walk->size - walk->at < LOOK_AHEAD && !walk->complete)
			status = fill_buffer(walk);
		if (status < 0)
			return status;
		if (walk->synced && walk->offset + walk->at >= walk->end)
			return 0;
		if (walk->at == walk->size)
			return at_hole(walk, item);
		status = walk->synced ? next_packet(walk, item) : find_sync(walk, item);
		if (status)
			return status;
	}
}
