/* SPDX-License-Identifier: BSD-2-Clause */
/* Random packets with valid fields, identical in every run. */
#ifndef TESTS_UNIT_PT_RANDOM_H
#define TESTS_UNIT_PT_RANDOM_H

#include "format/pt/fields.h"
#include "format/pt/packet.h"

/* xorshift64*: a seed gives the same sequence on every machine. */
struct pt_random {
	uint64_t state;
};

struct pt_random pt_random(uint64_t seed);
uint64_t pt_random_next(struct pt_random *random);
/* Returns a number from 0 to limit - 1. */
uint64_t pt_random_below(struct pt_random *random, uint64_t limit);
/* Returns a value below 2^bits. All magnitudes are equally likely, so that short and long encodings occur. */
uint64_t pt_random_bits(struct pt_random *random, unsigned bits);
void pt_random_packet_of(struct pt_random *random, unsigned kind, struct ptl_pt_packet *packet);
/* Makes a packet of any kind, all equally likely. */
void pt_random_packet(struct pt_random *random, struct ptl_pt_packet *packet);

#endif
