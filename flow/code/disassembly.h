/* SPDX-License-Identifier: BSD-2-Clause */
/* Instructions as text: by Zydis, or by their encoding. */
#ifndef FLOW_CODE_DISASSEMBLY_H
#define FLOW_CODE_DISASSEMBLY_H

#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"

/*
 * Appends the instruction at ip in Intel's syntax: "mov rdi, [rsp+0x8]". An instruction unknown to Zydis is written as
 * ".byte 0xf2, 0x0f, 0x01, 0xca # erets"; an unknown name is left out. Bytes that are no instruction are written as
 * "(bad)". mode is 64, 32 or 16.
 */
void flow_disassemble(const uint8_t *bytes, size_t size, unsigned mode, uint64_t ip, struct ptl_bytes *text);

#endif
