/* SPDX-License-Identifier: BSD-2-Clause */
/* The frequent packets in the frequent states. */
#ifndef FLOW_NATIVE_QUICK_H
#define FLOW_NATIVE_QUICK_H

#include "flow/native/walk.h"

/*
 * Takes packets as long as each is a PAD, TNT-8, TIP, TIP.PGE or TIP.PGD whose outcome is known, nothing is pending and
 * there is room in the batch. Ends before any other packet, and PTL_PT_PACKET_MAX bytes before the segment's end.
 */
void native_quick(struct native_decoder *decoder);

#endif
