/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of stretches. Stretches do not record their pages: any change of code clears the table. */
#include "flow/native/cache/stretch.h"

#include <string.h>

#include "flow/native/cache/arena.h"
#include "flow/native/cache/cache.h"
#include "flow/native/cache/code.h"

#define SIZE (NATIVE_STRETCHES * sizeof(struct native_stretch))

void native_stretches_open(struct native_stretches *stretches)
{
	if (!stretches->table)
		stretches->table = native_pages_take(SIZE);
}

static void close_stretches(struct native_code *code)
{
	native_pages_free(code->stretches.table, SIZE);
	code->stretches = (struct native_stretches){0};
}

static void clear_stretches(struct native_code *code)
{
	if (code->stretches.used)
		memset(code->stretches.table, 0, SIZE);
	code->stretches.used = false;
}

static void invalidate_stretches(struct native_code *code, uint64_t pages)
{
	(void)pages;
	clear_stretches(code);
}

const struct native_cache native_cache_stretches = {
	.close = close_stretches, .clear = clear_stretches, .invalidate = invalidate_stretches};
