/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the packets of a ring of Intel PT a second time, from perf.data or from a copy of samples. */
#ifndef IMPORT_PERF_GUEST_PACKETS_H
#define IMPORT_PERF_GUEST_PACKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/segment/errata.h"
#include "flow/segment/packets.h"

/* Bytes of a ring that lie together in a file. */
struct perf_guest_piece {
	int fd;
	uint64_t offset; /* file offset */
	uint64_t
		position; /* position in the ring's stream; a hole lies before the piece if its predecessor ends earlier */
	uint64_t size;
};

/* A ring of a CPU or thread. Zero-initialised: no bytes. */
struct perf_guest_ring {
	uint32_t cpu; /* PTL_NO_CPU: the ring is of a thread */
	uint32_t tid;
	struct perf_guest_piece *pieces; /* in order */
	size_t count, capacity;
};

struct perf_guest_packet {
	uint64_t position; /* in the ring's stream */
	struct ptl_pt_packet packet;
	const uint8_t *bytes; /* bytes of the packet, valid until the next packet is read */
	bool lost;            /* bytes before the packet are missing or no packets; the packet is a PSB */
	uint64_t ip;          /* address of the packet, if has_ip */
	bool has_ip;
};

/* A place in the packets of a ring. */
struct perf_guest_reader {
	const struct perf_guest_ring *ring;
	struct flow_errata errata;
	uint8_t *window;
	size_t begin, end; /* valid bytes of the window */
	uint64_t position; /* position of the byte at `begin` */
	uint64_t last_ip;
	struct ptl_pt_context context;
	bool searching; /* only a PSB can be the next packet */
	bool lost;      /* as in perf_guest_packet, for the next packet */
};

/* Returns PTL_NO_MEMORY. */
int perf_guest_reader_open(struct perf_guest_reader *reader, const struct perf_guest_ring *ring,
			   const struct flow_errata *errata);
void perf_guest_reader_close(struct perf_guest_reader *reader);

/*
 * Goes to a packet. last_ip: the last address before the packet. Position 0, or a position that no piece has, is the
 * ring's begin: the next packet is the first PSB.
 */
void perf_guest_reader_go(struct perf_guest_reader *reader, uint64_t position, uint64_t last_ip);

/* Reads the next packet. Returns 1; 0 at the end; PTL_TRUNCATED, PTL_SYSTEM. */
int perf_guest_reader_next(struct perf_guest_reader *reader, struct perf_guest_packet *packet);

/* Reads the PSB+ of the PSB that is the last packet. */
void perf_guest_reader_psb_plus(const struct perf_guest_reader *reader, struct flow_psb_plus *psb_plus);

#endif
