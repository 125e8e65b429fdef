/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes a part of a segment decodable by itself. */
#ifndef FLOW_SEGMENT_REPLAY_H
#define FLOW_SEGMENT_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#include "flow/segment/errata.h"

/*
 * bytes is a segment with its PSB, size bytes, and packets are disabled at offset skip. Changes what comes before, so
 * that a decoder which begins at the PSB has at skip the time, the execution mode and the core-to-bus ratio that it
 * would have had, packets disabled, and has given nothing: PSB+ without FUP, timing packets, padding. The first
 * address behind skip is written in full. Offsets behind that stay. PTL_CORRUPT (no text), and bytes are as they were,
 * where packets are damaged or there is no room; PTL_NO_MEMORY.
 */
int flow_segment_replay(uint8_t *bytes, size_t size, size_t skip, const struct flow_errata *errata);

#endif
