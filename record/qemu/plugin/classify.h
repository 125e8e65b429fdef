/* SPDX-License-Identifier: BSD-2-Clause */
/* What an instruction does to the flow of control, from its bytes. */

#ifndef RECORD_QEMU_PLUGIN_CLASSIFY_H
#define RECORD_QEMU_PLUGIN_CLASSIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/qemu/shared/channel.h"

struct plugin_instruction {
	enum qemu_block_kind kind;
	uint64_t target; /* of a direct branch; else 0 */
};

/*
 * Classifies the 64-bit mode instruction of `length` bytes (as QEMU decoded it: 1 to 15) at
 * `address`. Whatever is no branch is QEMU_BLOCK_LINEAR.
 */
struct plugin_instruction plugin_classify(const uint8_t *bytes, size_t length, uint64_t address);

/* True if the bytes are the beginning of an instruction and not all of it. */
bool plugin_is_cut(const uint8_t *bytes, size_t length);

#endif
