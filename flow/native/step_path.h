/* SPDX-License-Identifier: BSD-2-Clause */
/* The fast path where few runs of blocks are wanted: see flow_step. */
#ifndef FLOW_NATIVE_STEP_PATH_H
#define FLOW_NATIVE_STEP_PATH_H

#include "flow/native/walk.h"

/*
 * Takes packets while each is a PAD, TNT, TIP or a packet of time, nothing is pending, and flow is where counters can follow
 * it; the sink has a step. Ends before any other packet, and PTL_PT_PACKET_MAX bytes before the end of the segment. False:
 * decoding has ended.
 */
bool native_step_path(struct native_decoder *decoder);

#endif
