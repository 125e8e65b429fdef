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
	FLOW_PACKET_ITEM_DAMAGED, /* a packet that is wrong because of an erratum, and the next one is right behind it */
	FLOW_PACKET_ITEM_LOST,    /* a hole in the stream: buffers that are missing or damaged */
};

struct flow_packet_item {
	enum flow_packet_item_type type;
	uint64_t offset; /* in the stream */
	uint64_t size;   /* bytes of the stream */
	/* Of packets: */
	struct ptl_pt_packet packet;
	uint64_t last_ip;     /* before the packet */
	const uint8_t *bytes; /* valid until the next call */
	/* Of the others, for people: "unknown opcode 05". */
	char cause[96];
};

/* A walk under way; its memory is the same for any stream. All members are the walk's own. */
struct flow_packet_walk {
	struct ptl_trace *trace;
	uint32_t stream;
	uint64_t end;    /* stream offset at which the walk stops */
	uint64_t offset; /* stream offset of data[0] */
	uint8_t *data;
	size_t size;           /* bytes in data */
	size_t at;             /* of the next packet in data */
	bool complete;         /* data reaches to a hole or the stream's end */
	bool synced;           /* at a packet; otherwise looking for a PSB */
	uint64_t skipped_from; /* unless synced: where the bytes that are no packets begin */
	char cause[96];        /* unless synced: why */
	struct flow_errata errata;
	struct ptl_pt_context context;
	uint64_t last_ip;
};

/*
 * Begins at the stream offset `from`, which need not be that of a packet: bytes up to the first PSB
 * are an item of their own. The walk goes up to `end` (UINT64_MAX: the stream's end). `errata` are
 * those of the CPU that made the packets. Ended with flow_packet_walk_free. PTL_NO_MEMORY.
 */
int flow_packet_walk_start(struct flow_packet_walk *walk, struct ptl_trace *trace, uint32_t stream, uint64_t from,
			   uint64_t end, struct flow_errata errata);
void flow_packet_walk_free(struct flow_packet_walk *walk);

/*
 * The next item: 1; 0 at the end; or what ptl_stream_read says (PTL_SYSTEM, PTL_NO_MEMORY,
 * PTL_MISUSE).
 */
int flow_packet_walk_next(struct flow_packet_walk *walk, struct flow_packet_item *item);

#endif
