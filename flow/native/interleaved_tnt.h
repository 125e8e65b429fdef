/* SPDX-License-Identifier: BSD-2-Clause */
/* Counting the TNT packets of interleaved segments. */
#ifndef FLOW_NATIVE_INTERLEAVED_TNT_H
#define FLOW_NATIVE_INTERLEAVED_TNT_H

#include "flow/native/interleaved.h"

/*
 * Start to count at the decoder's packet. Returns false if the TNT16 cache is suspended, or without memory. The decoder
 * does not change until native_interleaved_tnt_end. Slots may be run while native_interleaved_tnt_goes_on returns true.
 */
bool native_interleaved_tnt_begin(struct native_interleaved *slot);
bool native_interleaved_tnt_goes_on(const struct native_interleaved *slot);
void native_interleaved_tnt_run(struct native_code *code, struct native_interleaved *const *slots, unsigned count);
/*
 * Ends counting. Afterwards the decoder is behind the packets, or at its old place if the packets do not fit the code.
 */
void native_interleaved_tnt_end(struct native_interleaved *slot);

#endif
