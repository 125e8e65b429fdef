/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets with an address. Some packets suppress the address (has_ip is false). */
#ifndef FLOW_NATIVE_ADDRESS_H
#define FLOW_NATIVE_ADDRESS_H

#include "flow/native/decoder.h"

/* Handles TIP. */
void native_on_tip(struct native_decoder *decoder, bool has_ip, uint64_t ip);
/* Handles TIP.PGE. */
void native_on_enable(struct native_decoder *decoder, bool has_ip, uint64_t ip);
/* Handles TIP.PGD. */
void native_on_disable(struct native_decoder *decoder, bool has_ip, uint64_t ip);
/* Handles FUP, outside of PSB+. */
void native_on_fup(struct native_decoder *decoder, bool has_ip, uint64_t ip);

/* Adds the event of a PTWRITE executed at ip, behind the instruction. */
void native_after_ptwrite(struct native_decoder *decoder, uint64_t ip);

#endif
