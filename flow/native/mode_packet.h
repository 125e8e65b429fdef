/* SPDX-License-Identifier: BSD-2-Clause */
/* Mode and address space after a far transfer. Packets before the transfer's TIP announce both. */
#ifndef FLOW_NATIVE_MODE_PACKET_H
#define FLOW_NATIVE_MODE_PACKET_H

#include "flow/native/decoder.h"

/* Returns the mode of a MODE.Exec: 64, 32 or 16. */
uint8_t native_mode_of(const struct ptl_pt_packet *packet);

/* Makes the announced mode valid, and adds an event. The caller fills in the event's address, if any. */
struct flow_event *native_put_mode(struct native_decoder *decoder);

/* As native_put_mode, with address `ip`, if a mode was announced. */
void native_change_mode(struct native_decoder *decoder, uint64_t ip);

/*
 * Makes the announced page table and VMCS valid, before the code at the far transfer's target. has_from, from: see
 * struct flow_event.
 */
void native_change_address_space(struct native_decoder *decoder, bool has_from, uint64_t from);

/* Add the announced events without a place, because the TIP is missing. The mode becomes valid. */
void native_drop_address_space(struct native_decoder *decoder);
void native_drop_mode(struct native_decoder *decoder);

#endif
