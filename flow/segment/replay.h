/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes a part of a segment decodable without the packets before the part. */
#ifndef FLOW_SEGMENT_REPLAY_H
#define FLOW_SEGMENT_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#include "flow/segment/errata.h"

/*
 * Replaces the packets before offset skip, where packets are disabled. bytes: a segment of size bytes that begins with
 * its PSB. A decoder that begins at the PSB then reaches skip with the correct time, execution mode and core-to-bus
 * ratio, with packets disabled, and without any flow. The new bytes are PSB+ without FUP, timing packets and padding.
 * The first address behind skip is written in full; offsets behind the address do not change.
 * Returns PTL_CORRUPT (without an error text) if packets are damaged or there is no room: then bytes are unchanged.
 * Returns PTL_NO_MEMORY.
 */
int flow_segment_replay(uint8_t *bytes, size_t size, size_t skip, const struct flow_errata *errata);

#endif
