/* SPDX-License-Identifier: BSD-2-Clause */
/* Structures of callers that begin with their size, as all options and callbacks of the public headers do. */
#ifndef COMMON_STRUCTURE_H
#define COMMON_STRUCTURE_H

#include <stddef.h>

/*
 * Copies the caller's structure `given`, whose first member is its size, to `taken`, which has `size` bytes in this version.
 * Members that `given` lacks become 0. `name` is the structure's name, for messages. PTL_MISUSE: the size was not set.
 * PTL_UNSUPPORTED: a member that this version does not know is not 0.
 */
int common_structure_take(const char *name, const void *given, void *taken, size_t size);

/* The same if `given` may be NULL: *taken becomes 0 then. */
int common_structure_take_optional(const char *name, const void *given, void *taken, size_t size);

#endif
