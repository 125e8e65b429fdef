/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks the packets of a PT stream, in pieces, past damage and holes. */
#ifndef FLOW_SEGMENT_PACKET_WALK_H
#define FLOW_SEGMENT_PACKET_WALK_H

#include <ptl/pt.h>
#include <ptl/reader.h>

#include "flow/segment/errata.h"

enum flow_packet_item_type {
	FLOW_PACKET_ITEM_PACKET,
	FLOW_PACKET_ITEM_SKIPPED, /* bytes that are no packets, up to the next PSB */
	FLOW_PACKET_ITEM_DAMAGED, /* a packet damaged by an erratum; the next packet follows directly */
	FLOW_PACKET_ITEM_LOST,    /* a hole in the stream: buffers that are missing or damaged */
};

struct flow_packet_item {
	enum flow_packet_item_type type;
	uint64_t offset; /* in the stream */
	uint64_t size;   /* bytes of the stream */
	/* FLOW_PACKET_ITEM_PACKET and FLOW_PACKET_ITEM_DAMAGED: */
	struct ptl_pt_packet packet;
	uint64_t last_ip;     /* last IP before the packet */
	const uint8_t *bytes; /* valid until the next call */
	/* All types except FLOW_PACKET_ITEM_PACKET: a text for users, such as "unknown opcode 05". */
	char cause[96];
};

/* A walk in progress. Its memory does not depend on the stream's size. All members are private to the walk. */
struct flow_packet_walk {
	struct ptl_trace *trace;
	uint32_t stream;
	uint64_t end;    /* stream offset at which the walk stops */
	uint64_t offset; /* stream offset of data[0] */
	uint8_t *data;
	size_t size;           /* bytes in data */
	size_t at;             /* offset of the next packet in data */
	bool complete;         /* data reaches to a hole or the stream's end */
	bool synced;           /* the walk is at a packet; false: the walk looks for a PSB */
	uint64_t skipped_from; /* unless synced: offset of the first byte that is no packet */
	char cause[96];        /* unless synced: cause of the loss of synchronisation */
	struct flow_errata errata;
	struct ptl_pt_context context;
	uint64_t last_ip;
};

/*
 * Begins a walk at the stream offset `from`, at a packet or within a packet: the bytes before the first PSB become an
 * item. The walk ends at `end` (UINT64_MAX: the stream's end). errata: errata of the CPU that made the packets. The
 * caller ends the walk with flow_packet_walk_free. Returns PTL_NO_MEMORY.
 */
int flow_packet_walk_start(struct flow_packet_walk *walk, struct ptl_trace *trace, uint32_t stream, uint64_t from,
			   uint64_t end, struct flow_errata errata);
void flow_packet_walk_free(struct flow_packet_walk *walk);

/*
 * Reads the next item. Returns 1; 0 at the end; or an error of ptl_stream_read (PTL_SYSTEM, PTL_NO_MEMORY, PTL_MISUSE).
 */
int flow_packet_walk_next(struct flow_packet_walk *walk, struct flow_packet_item *item);

#endif
