/* SPDX-License-Identifier: BSD-2-Clause */
/* The effect of each packet on the flow. */
#ifndef FLOW_NATIVE_PACKET_H
#define FLOW_NATIVE_PACKET_H

#include "flow/native/decoder.h"

/* Handles any packet outside of PSB+, except PAD and PSB. */
void native_packet(struct native_decoder *decoder, const struct ptl_pt_packet *packet);

/* FUP of a PSB+: the address at which flow goes on, which may be 0. Without a FUP, packets are disabled. */
struct native_start {
	bool known;
	uint64_t ip;
};

/*
 * Handles a packet between PSB and PSBEND, which repeats the state. A FUP sets *start. Returns false if the
 * packet is not allowed in PSB+.
 */
bool native_state_packet(struct native_decoder *decoder, const struct ptl_pt_packet *packet,
			 struct native_start *start);

#endif
