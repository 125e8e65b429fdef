/* SPDX-License-Identifier: BSD-2-Clause */
/* The fast path by packet words. */
#ifndef FLOW_NATIVE_FAST_PATH_WORD_H
#define FLOW_NATIVE_FAST_PATH_WORD_H

#include "flow/native/fast_path_packet.h"

/*
 * Decodes packets by cached packet words, and adds words to the cache. Stops before a packet that native_fast_path_take
 * does not handle, if the batch is full, near the end of the segment, and if packet words are suspended.
 */
void native_fast_path_words(struct native_decoder *decoder, struct native_fast_path *fast,
			    const struct native_fast_path_ends *ends);

#endif
