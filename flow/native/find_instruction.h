/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the instruction that a packet without address refers to. */
#ifndef FLOW_NATIVE_FIND_INSTRUCTION_H
#define FLOW_NATIVE_FIND_INSTRUCTION_H

#include "flow/native/walk.h"

/*
 * The first instruction of a kind (NATIVE_PTWRITE, NATIVE_WRITES_CR3 or NATIVE_SETS_VMCS) from here on, before a
 * packet is needed. *ip and *next: its address and that behind it. False: there is none.
 */
bool native_find_instruction(const struct native_decoder *decoder, unsigned notable, uint64_t *ip, uint64_t *next);

/*
 * The address of the instruction behind `count` ones, counted from where the last packet with a branch or an address was. False: a
 * packet is needed before it, or flow has passed it.
 */
bool native_find_counted(const struct native_decoder *decoder, uint64_t count, uint64_t *ip);

/*
 * The packet at hand, of `size` bytes, has neither a branch nor an address, but flow is about to go on to the instruction at ip
 * because of it: counts the instructions before ip.
 */
void native_count_to(struct native_decoder *decoder, unsigned size, uint64_t ip);

#endif
