/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes blocks of pcapng: draft-ietf-opsawg-pcapng. */
#ifndef DUMP_EXPORT_PACKET_PCAPNG_H
#define DUMP_EXPORT_PACKET_PCAPNG_H

#include "common/bytes.h"

/* Each function appends a block to out, and sets out->failed without memory. Texts are UTF-8; NULL or "": no text. */

/* The section header, which begins the file. */
void dump_pcapng_section(struct ptl_bytes *out, const char *system, const char *program);
/* An interface. Interfaces are numbered from 0 in order. Packet times are in nanoseconds. */
void dump_pcapng_interface(struct ptl_bytes *out, uint32_t link, uint32_t packet_max, const char *name,
			   const char *description);

struct dump_pcapng_packet {
	uint32_t interface;
	uint64_t time; /* nanoseconds since 1970 */
	const uint8_t *data;
	uint32_t size, original;
	uint32_t direction; /* value for epb_flags: 1 in, 2 out, 0 unknown */
	const char *comment;
};

#define DUMP_PCAPNG_DATA_AT 28u /* offset of a packet's bytes in its block */
void dump_pcapng_packet(struct ptl_bytes *out, const struct dump_pcapng_packet *packet);
/* Statistics of an interface, after its last packet. */
void dump_pcapng_statistics(struct ptl_bytes *out, uint32_t interface, uint64_t time, uint64_t received,
			    const char *comment);

#endif
