/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks of pcapng: draft-ietf-opsawg-pcapng. */
#ifndef DUMP_EXPORT_PACKET_PCAPNG_H
#define DUMP_EXPORT_PACKET_PCAPNG_H

#include "common/bytes.h"

/* All append a block to out, and leave a failed allocation in out->failed. Texts are UTF-8; NULL or "": none. */

/* The section header: what begins the file. */
void dump_pcapng_section(struct ptl_bytes *out, const char *system, const char *program);
/* An interface; the n-th one has the number n, from 0. Times of its packets are nanoseconds. */
void dump_pcapng_interface(struct ptl_bytes *out, uint32_t link, uint32_t packet_max, const char *name,
			   const char *description);

struct dump_pcapng_packet {
	uint32_t interface;
	uint64_t time; /* nanoseconds since 1970 */
	const uint8_t *data;
	uint32_t size, original;
	uint32_t direction; /* of epb_flags: 1 in, 2 out, 0 unknown */
	const char *comment;
};

#define DUMP_PCAPNG_DATA_AT 28u /* where the bytes of a packet are in its block */
void dump_pcapng_packet(struct ptl_bytes *out, const struct dump_pcapng_packet *packet);
/* What is to be said of an interface when all its packets have been written. */
void dump_pcapng_statistics(struct ptl_bytes *out, uint32_t interface, uint64_t time, uint64_t received,
			    const char *comment);

#endif
