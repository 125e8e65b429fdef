/* SPDX-License-Identifier: BSD-2-Clause */
/* Joins fragments of packets: Windows before 8.1 writes an event for each fragment. */
#ifndef DUMP_EXPORT_PACKET_PACKET_JOIN_H
#define DUMP_EXPORT_PACKET_PACKET_JOIN_H

#include "common/bytes.h"
#include "common/hash_map.h"
#include "dump/export/packet/network_packet.h"

#define DUMP_PACKET_MAX 262144u /* maximum bytes of a packet in pcapng readers */
#define DUMP_PACKETS_OPEN 64u   /* maximum incomplete packets at a time */

/* Zero-initialised: empty. */
struct dump_packet_join {
	struct dump_packet_open {
		bool used;
		uint64_t begun; /* sequence number */
		uint32_t cpu;
		struct dump_packet packet; /* data of the first fragment; its pointers are no longer valid */
		uint64_t size;             /* bytes of all fragments, including those that did not fit */
		struct ptl_bytes bytes;
	} open[DUMP_PACKETS_OPEN];
	uint64_t begun;
	uint64_t without_end;   /* packets without their last fragment */
	uint64_t without_begin; /* fragments without their packet's first fragment */
};

void dump_packet_join_free(struct dump_packet_join *join);

/*
 * Adds a fragment of an event on a CPU. If the packet is complete, sets *whole, and changes `packet` to the whole
 * packet: its bytes are valid until the next call, and `original` is at least its size. Returns 0 or PTL_NO_MEMORY.
 */
int dump_packet_join_add(struct dump_packet_join *join, uint32_t cpu, struct dump_packet *packet, bool *whole);
/* Ends the input: counts incomplete packets. */
void dump_packet_join_end(struct dump_packet_join *join);

#endif
