/* SPDX-License-Identifier: BSD-2-Clause */
/* The fast path where nobody wants the blocks: counts what TNT and TIP packets decide. */
#ifndef FLOW_NATIVE_COUNT_PATH_H
#define FLOW_NATIVE_COUNT_PATH_H

#include "flow/native/interleaved.h"
#include "flow/native/walk.h"

/*
 * Takes packets of the slot while each is a PAD, TNT, TIP or a packet of time, nothing is pending, and flow is where counters can
 * follow it. Ends before any other packet, in front of many TNT-64 packets that the slot's TNT16 cache may take, and
 * PTL_PT_PACKET_MAX bytes before the end of the segment.
 *
 * What becomes of the last branch may depend on what follows: so the region left last is added to the batch, and not
 * counted. Where others were counted before it, a FLOW_COUNTED stands before it. False: decoding has ended.
 */
bool native_count_path(struct native_decoder *decoder, const struct native_interleaved *slot);

#endif
