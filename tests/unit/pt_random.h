/* SPDX-License-Identifier: BSD-2-Clause */
/* Random packets with fields in range, the same ones in every run. */
#ifndef TESTS_UNIT_PT_RANDOM_H
#define TESTS_UNIT_PT_RANDOM_H

#include "format/pt/fields.h"
#include "format/pt/packet.h"

/* xorshift64*: a seed gives one sequence everywhere. */
struct pt_random {
	uint64_t state;
};

struct pt_random pt_random(uint64_t seed);
uint64_t pt_random_next(struct pt_random *random);
/* 0 to limit - 1. */
uint64_t pt_random_below(struct pt_random *random, uint64_t limit);
/* A value below 2^bits: all magnitudes alike, so that short and long encodings occur. */
uint64_t pt_random_bits(struct pt_random *random, unsigned bits);
void pt_random_packet_of(struct pt_random *random, unsigned kind, struct ptl_pt_packet *packet);
/* Any kind, each as often as the others. */
void pt_random_packet(struct pt_random *random, struct ptl_pt_packet *packet);

#endif
