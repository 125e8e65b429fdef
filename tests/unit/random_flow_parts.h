/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of a random run: the program, the packets, and the run. */
#ifndef TESTS_UNIT_RANDOM_FLOW_PARTS_H
#define TESTS_UNIT_RANDOM_FLOW_PARTS_H

#include "tests/unit/random_flow.h"

/* ---- the program: random_program.c --------------------------------------------------------------------------- */

extern const uint8_t random_ptwrite[4]; /* bytes of a PTWRITE instruction */

/* Returns true with probability 1/times; consumes no randomness without the feature. */
bool random_flow_chance(struct random_flow *flow, unsigned feature, unsigned times);
void random_flow_emit(struct random_flow *flow, const uint8_t *bytes, unsigned size);
/* Writes the last instruction of a block; the displacement of a direct branch is set later. */
void random_flow_emit_end(struct random_flow *flow, enum random_end kind);
void random_flow_emit_filler(struct random_flow *flow);
/* Chooses the target of the direct branch at the end of block i. */
void random_flow_aim(struct random_flow *flow, unsigned i, struct pt_random *random);
void random_flow_make_code(struct random_flow *flow);
const struct random_block *random_flow_block(const struct random_flow *flow, uint32_t ip);
uint32_t random_flow_anywhere(struct random_flow *flow);

/* ---- packets: random_packets.c ------------------------------------------------------------------------------- */

void random_flow_put(struct random_flow *flow, const struct ptl_pt_packet *packet);
#define FLOW_PUT(flow, packet_kind, ...)                                                                               \
	random_flow_put(flow, &(struct ptl_pt_packet){.kind = packet_kind, ##__VA_ARGS__})

uint8_t *random_flow_at(struct random_flow *flow);
/* Writes a packet with an address, in the shortest form or in any other valid form. */
void random_flow_put_ip(struct random_flow *flow, unsigned match, uint64_t ip);
void random_flow_put_fup(struct random_flow *flow, uint32_t ip);
/* Writes the TNT bits and the TIPs deferred behind them. */
void random_flow_flush(struct random_flow *flow);
uint64_t random_flow_value(struct random_flow *flow, unsigned bits);
void random_flow_put_power(struct random_flow *flow);
/* Writes packets that may stand anywhere and do not affect the flow. */
void random_flow_noise(struct random_flow *flow);
void random_flow_bit(struct random_flow *flow, bool taken);
void random_flow_tip(struct random_flow *flow, uint32_t ip);
void random_flow_put_paging(struct random_flow *flow);
void random_flow_put_vmcs(struct random_flow *flow);
void random_flow_put_exstop(struct random_flow *flow, uint32_t ip);
void random_flow_put_ptwrite(struct random_flow *flow, bool fup, uint32_t ip);
void random_flow_put_transaction(struct random_flow *flow, bool in_transaction, bool abort);
/* Writes packets unknown to libipt before the instruction at ip. Returns whether a FUP was written. */
bool random_flow_modern(struct random_flow *flow, uint32_t ip);
/* Writes packets that occur while packets are disabled. */
void random_flow_disabled(struct random_flow *flow, uint32_t ip);
void random_flow_psb(struct random_flow *flow, bool enabled, uint32_t ip);
void random_flow_put_mode(struct random_flow *flow);

/* ---- the run: random_flow.c ---------------------------------------------------------------------------------- */

/* Runs the program for about `steps` instructions. */
void random_flow_run(struct random_flow *flow, size_t steps);
/* Makes the program of a seed with its code in `ranges` ranges, without running it. */
void random_flow_begin(struct random_flow *flow, uint64_t seed, unsigned ranges, unsigned features);

#endif
