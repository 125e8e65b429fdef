/* SPDX-License-Identifier: BSD-2-Clause */
/* The mode and the address space after a far transfer, which packets before its TIP announce. */
#ifndef FLOW_NATIVE_MODE_PACKET_H
#define FLOW_NATIVE_MODE_PACKET_H

#include "flow/native/decoder.h"

/* 64, 32 or 16, as a MODE.Exec says. */
uint8_t native_mode_of(const struct ptl_pt_packet *packet);

/* The announced mode is valid from here on: adds the event, whose address the caller fills in if there is one. */
struct flow_event *native_put_mode(struct native_decoder *decoder);

/* The same if one was announced, from `ip` on. */
void native_change_mode(struct native_decoder *decoder, uint64_t ip);

/*
 * The announced page table and VMCS are valid from here on, before the code at the target of the far transfer;
 * `from`, if has_from: see struct flow_event.
 */
void native_change_address_space(struct native_decoder *decoder, bool has_from, uint64_t from);

/*
 * The same where the TIP is missing: the events have no place, but are not left out. The mode is valid from here on.
 */
void native_drop_address_space(struct native_decoder *decoder);
void native_drop_mode(struct native_decoder *decoder);

#endif
