/* SPDX-License-Identifier: BSD-2-Clause */
/* The fast path: frequent packets in frequent states. */
#ifndef FLOW_NATIVE_FAST_PATH_H
#define FLOW_NATIVE_FAST_PATH_H

#include "flow/native/walk.h"

/* Whether nothing is pending that the frequent packets would have to know of. */
static inline bool native_fast_path_may_begin(const struct native_decoder *decoder)
{
	return !decoder->busy && !decoder->packets.context.bip_bytes && !decoder->announced.mode &&
	       !decoder->announced.paging_due && !decoder->announced.vmcs_due;
}

/*
 * Takes packets while each is a PAD, TNT-8, TIP, TIP.PGE or TIP.PGD whose effect is cached, nothing is pending and
 * there is room in the batch. Ends before any other packet, and PTL_PT_PACKET_MAX bytes before the end of the
 * segment.
 */
void native_fast_path(struct native_decoder *decoder);
/* Only by packet words, as long as these are used. */
void native_fast_path_known(struct native_decoder *decoder);

#endif
