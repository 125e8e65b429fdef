/* SPDX-License-Identifier: BSD-2-Clause */
/* Entries point only to regions, which stay in place when code changes: invalidation is not needed. */
#include "flow/native/cache/target_cache.h"

#include <string.h>

#include "flow/native/cache/cache.h"
#include "flow/native/cache/code.h"

static void close_targets(struct native_code *code)
{
	code->targets.entries = NULL;
}

static void clear_targets(struct native_code *code)
{
	memset(code->targets.entries, 0, NATIVE_TARGETS * sizeof(*code->targets.entries));
}

const struct native_cache native_cache_targets = {.close = close_targets, .clear = clear_targets};
