/* SPDX-License-Identifier: BSD-2-Clause */
/* The fast path for consumers that need few runs of blocks: see flow_step. */
#ifndef FLOW_NATIVE_STEP_PATH_H
#define FLOW_NATIVE_STEP_PATH_H

#include "flow/native/decoder.h"

/*
 * Decodes packets as long as each packet is a PAD, TNT, TIP or a packet of time, no event is pending, and counters can
 * follow the flow. The sink has a step function. Stops before any other packet, and PTL_PT_PACKET_MAX bytes before the
 * end of the segment. Returns false if decoding has ended.
 */
bool native_step_path(struct native_decoder *decoder);

#endif
