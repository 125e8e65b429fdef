/* SPDX-License-Identifier: BSD-2-Clause */
/* The mode and the address space that a far transfer leads to, which packets before its address tell of. */
#ifndef FLOW_NATIVE_MODE_PACKET_H
#define FLOW_NATIVE_MODE_PACKET_H

#include "flow/native/decoder.h"

/* 64, 32 or 16, as a MODE.Exec says. */
uint8_t native_mode_of(const struct ptl_pt_packet *packet);

/* The mode that was announced holds from here on: the event, whose address the caller fills in if there is one. */
struct flow_event *native_put_mode(struct native_decoder *decoder);

/* The same, if one was announced, from `ip` on, where flow comes to now. */
void native_change_mode(struct native_decoder *decoder, uint64_t ip);

/*
 * The page table and the VMCS that were announced hold from here on, before the code that a far transfer led to; `from`, if
 * has_from: see struct flow_event.
 */
void native_change_address_space(struct native_decoder *decoder, bool has_from, uint64_t from);

/*
 * The same where the TIP does not come that would tell where they hold from on: the events have no place, and are not left
 * out. The mode holds from here on.
 */
void native_drop_address_space(struct native_decoder *decoder);
void native_drop_mode(struct native_decoder *decoder);

#endif
