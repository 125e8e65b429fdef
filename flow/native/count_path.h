/* SPDX-License-Identifier: BSD-2-Clause */
/* The fast path for consumers without blocks: counts the decisions of TNT and TIP packets. */
#ifndef FLOW_NATIVE_COUNT_PATH_H
#define FLOW_NATIVE_COUNT_PATH_H

#include "flow/native/interleaved.h"
#include "flow/native/decoder.h"

/*
 * Decodes packets of the slot as long as each packet is a PAD, TNT, TIP or a packet of time, no event is pending, and
 * counters can follow the flow. Stops before any other packet, before many TNT-64 packets that the slot's TNT16 cache
 * may take, and PTL_PT_PACKET_MAX bytes before the end of the segment.
 *
 * The meaning of the last branch may depend on later packets. Therefore the last region is added to the batch instead
 * of being counted. If other regions were counted before, a FLOW_COUNTED event stands before the last region. Returns
 * false if decoding has ended.
 */
bool native_count_path(struct native_decoder *decoder, const struct native_interleaved *slot);

#endif
