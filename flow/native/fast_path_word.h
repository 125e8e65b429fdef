/* SPDX-License-Identifier: BSD-2-Clause */
/* The frequent packets, eight bytes at a time. */
#ifndef FLOW_NATIVE_FAST_PATH_WORD_H
#define FLOW_NATIVE_FAST_PATH_WORD_H

#include "flow/native/fast_path_packet.h"

/*
 * Takes packets by words that are known, and remembers those that are met again. Ends before a packet that
 * native_fast_path_take does not take, where a batch is full, near the segment's end, and where words do not pay.
 */
void native_fast_path_words(struct native_decoder *decoder, struct native_fast_path *fast,
			    const struct native_fast_path_ends *ends);

#endif
