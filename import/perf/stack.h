/* SPDX-License-Identifier: BSD-2-Clause */
/* Call chains of the kernel's samples, as ETW's item for a stack. */
#ifndef IMPORT_PERF_STACK_H
#define IMPORT_PERF_STACK_H

#include <stddef.h>
#include <stdint.h>

#include <ptl/event.h>

#include "common/bytes.h"

/*
 * Puts the item of a call chain, of `count` words of 64 bits, behind what storage has; *start is where. item->data is to be set when
 * the storage does not grow any more. Words that say whose frames follow are left out, and so are frames beyond the first 1024.
 */
void perf_stack_put(struct ptl_bytes *storage, const uint8_t *callchain, size_t count, struct ptl_extended *item,
		    size_t *start);

#endif
