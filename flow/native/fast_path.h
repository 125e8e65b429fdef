/* SPDX-License-Identifier: BSD-2-Clause */
/* The fast path: frequent packets in frequent states. */
#ifndef FLOW_NATIVE_FAST_PATH_H
#define FLOW_NATIVE_FAST_PATH_H

#include "flow/native/walk.h"

/* Checks that nothing pending affects the frequent packets. */
static inline bool native_fast_path_may_begin(const struct native_decoder *decoder)
{
	return !decoder->busy && !decoder->packets.context.bip_bytes && !decoder->announced.mode &&
	       !decoder->announced.paging_due && !decoder->announced.vmcs_due;
}

/*
 * Decodes packets as long as each packet is a PAD, TNT-8, TIP, TIP.PGE or TIP.PGD with a cached effect, no event is
 * pending, and the batch has room. Stops before any other packet, and PTL_PT_PACKET_MAX bytes before the end of the
 * segment.
 */
void native_fast_path(struct native_decoder *decoder);
/* As native_fast_path, by packet words only, while packet words are in use. */
void native_fast_path_known(struct native_decoder *decoder);

#endif
