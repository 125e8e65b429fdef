/* SPDX-License-Identifier: BSD-2-Clause */
/* What each packet does to the flow. */
#ifndef FLOW_NATIVE_PACKET_H
#define FLOW_NATIVE_PACKET_H

#include "flow/native/walk.h"

/* Any packet outside of PSB+, but PAD and PSB. */
void native_packet(struct native_decoder *decoder, const struct ptl_pt_packet *packet);
/*
 * A packet between PSB and PSBEND, which repeats the state; *start is the address of the FUP. False: the packet is
 * not allowed there.
 */
bool native_state_packet(struct native_decoder *decoder, const struct ptl_pt_packet *packet, uint64_t *start);

#endif
