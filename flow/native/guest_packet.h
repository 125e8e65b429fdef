/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets of a guest (VMX non-root operation) whose code is not in the trace. Time and mode are followed. */
#ifndef FLOW_NATIVE_GUEST_PACKET_H
#define FLOW_NATIVE_GUEST_PACKET_H

#include "flow/native/decoder.h"

/* Handles flow that continues in the guest. The first time, adds a gap. */
void native_guest_skip(struct native_decoder *decoder);

/*
 * Handles a packet of the guest's flow, which has no events: their addresses would be taken for the host's. Returns false
 * for a packet that concerns the host, too.
 */
bool native_guest_packet(struct native_decoder *decoder, const struct ptl_pt_packet *packet);

#endif
