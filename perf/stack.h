/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts call chains of samples to ETW's extended item for stacks. */
#ifndef PERF_STACK_H
#define PERF_STACK_H

#include <stddef.h>
#include <stdint.h>

#include <ptl/event.h>

#include "common/bytes.h"

/*
 * Appends a stack item to storage. callchain: `count` words of 64 bits. *start: offset of the item in storage. The
 * caller sets item->data when storage is complete. Drops context markers, and frames beyond the first 1024.
 */
void perf_stack_put(struct ptl_bytes *storage, const uint8_t *callchain, size_t count, struct ptl_extended *item,
		    size_t *start);

#endif
