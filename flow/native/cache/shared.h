/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Blocks and regions that several codes share read-only, each in its own thread. A code that shares finds what it does
 * not know in the shared memory, and keeps its own additions and links. A change of code ends the sharing for the code.
 */
#ifndef FLOW_NATIVE_CACHE_SHARED_H
#define FLOW_NATIVE_CACHE_SHARED_H

#include "flow/native/cache/code.h"

struct native_shared {
	struct native_shared *older; /* shared before; NULL: none */
	unsigned users;              /* codes and newer shared memory; atomic */
	size_t regions;              /* number of regions, with those of all older memory */
	struct native_code code;     /* never changes */
	void *bytes;                 /* memory of code bytes, freed by free_bytes */
	void (*free_bytes)(void *bytes);
};

/*
 * Makes all that the code knows shared memory. The code goes on with this memory. `bytes` belongs to the memory on
 * success. No batch may be in use. Returns PTL_NO_MEMORY: nothing has changed then.
 */
int native_shared_make(struct native_code *code, void *bytes, void (*free_bytes)(void *bytes));
/* Lets an empty code use the shared memory of another code, which no thread may change meanwhile. PTL_NO_MEMORY. */
int native_shared_join(struct native_code *code, const struct native_code *from);
/* Gives up a use of the memory. NULL is allowed. */
void native_shared_leave(struct native_shared *shared);

/* Return a region or a whole block; NULL: not in the memory. The result may only be read. */
struct native_region *native_shared_region(const struct native_shared *shared, uint64_t ip, unsigned mode);
struct native_block *native_shared_block(const struct native_shared *shared, uint64_t ip, unsigned mode);

#endif
