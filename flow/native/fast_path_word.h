/* SPDX-License-Identifier: BSD-2-Clause */
/* The fast path by packet words. */
#ifndef FLOW_NATIVE_FAST_PATH_WORD_H
#define FLOW_NATIVE_FAST_PATH_WORD_H

#include "flow/native/fast_path_packet.h"

/*
 * Takes packets by packet words that are cached, and adds words to the cache. Ends before a packet that
 * native_fast_path_take does not take, where the batch is full, near the end of the segment, and where words are
 * suspended.
 */
void native_fast_path_words(struct native_decoder *decoder, struct native_fast_path *fast,
			    const struct native_fast_path_ends *ends);

#endif
