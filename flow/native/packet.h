/* SPDX-License-Identifier: BSD-2-Clause */
/* The effect of each packet on the flow. */
#ifndef FLOW_NATIVE_PACKET_H
#define FLOW_NATIVE_PACKET_H

#include "flow/native/decoder.h"

/* Handles any packet outside of PSB+, except PAD and PSB. */
void native_packet(struct native_decoder *decoder, const struct ptl_pt_packet *packet);
/*
 * Handles a packet between PSB and PSBEND, which repeats the state. *start: address of the FUP. Returns false if the
 * packet is not allowed in PSB+.
 */
bool native_state_packet(struct native_decoder *decoder, const struct ptl_pt_packet *packet, uint64_t *start);

#endif
