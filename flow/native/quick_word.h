/* SPDX-License-Identifier: BSD-2-Clause */
/* The frequent packets, eight bytes at a time. */
#ifndef FLOW_NATIVE_QUICK_WORD_H
#define FLOW_NATIVE_QUICK_WORD_H

#include "flow/native/quick_packet.h"

/*
 * Takes packets by words that are known, and remembers those that are met again. Ends before a packet that
 * native_quick_take does not take, where a batch is full, near the segment's end, and where words do not pay.
 */
void native_quick_words(struct native_decoder *decoder, struct native_quick *quick,
			const struct native_quick_ends *ends);

#endif
