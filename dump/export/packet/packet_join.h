/* SPDX-License-Identifier: BSD-2-Clause */
/* Joins the fragments of packets, of which Windows before 8.1 writes an event each. */
#ifndef DUMP_EXPORT_PACKET_PACKET_JOIN_H
#define DUMP_EXPORT_PACKET_PACKET_JOIN_H

#include "common/bytes.h"
#include "common/hash_map.h"
#include "dump/export/packet/network_packet.h"

#define DUMP_PACKET_MAX 262144u /* bytes of a packet: what readers of pcapng take */
#define DUMP_PACKETS_OPEN 64u   /* packets that lack their last fragment at a time */

/* Zero-initialised is empty. */
struct dump_packet_join {
	struct dump_packet_open {
		bool used;
		uint64_t begun; /* for the order */
		uint32_t cpu;
		struct dump_packet packet; /* of the first fragment; its bytes are not there any more */
		uint64_t size;             /* of all fragments, also of fragments without room */
		struct ptl_bytes bytes;
	} open[DUMP_PACKETS_OPEN];
	uint64_t begun;
	uint64_t without_end;   /* packets whose last fragment did not come */
	uint64_t without_begin; /* fragments whose packet did not begin */
};

void dump_packet_join_free(struct dump_packet_join *join);

/*
 * Takes a fragment of an event on a CPU. *whole becomes true if the packet is whole: packet then has all of its bytes, which live until
 * the next call, and `original` is not less than their number. PTL_NO_MEMORY.
 */
int dump_packet_join_add(struct dump_packet_join *join, uint32_t cpu, struct dump_packet *packet, bool *whole);
/* No more fragments come: counts the packets that are open. */
void dump_packet_join_end(struct dump_packet_join *join);

#endif
