/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the instruction to which a packet without address refers. */
#ifndef FLOW_NATIVE_FIND_INSTRUCTION_H
#define FLOW_NATIVE_FIND_INSTRUCTION_H

#include "flow/native/decoder.h"

/*
 * Finds the first instruction of a kind (NATIVE_PTWRITE, NATIVE_WRITES_CR3 or NATIVE_SETS_VMCS) that flow reaches
 * without a packet. *ip: address of the instruction; *next: address of the following instruction. Returns false if flow
 * reaches no such instruction.
 */
bool native_find_instruction(const struct native_decoder *decoder, unsigned notable, uint64_t *ip, uint64_t *next);

/*
 * Finds the address behind `count` instructions, counted from the place of the last packet with a branch or an address.
 * Returns false if flow cannot reach the address without a packet, or has already passed the address.
 */
bool native_find_counted(const struct native_decoder *decoder, uint64_t count, uint64_t *ip);

/*
 * Counts the instructions before ip, before flow moves to ip because of the current packet. The packet has `size`
 * bytes, and neither a branch nor an address.
 */
void native_count_to(struct native_decoder *decoder, unsigned size, uint64_t ip);

#endif
