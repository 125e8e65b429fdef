/* SPDX-License-Identifier: BSD-2-Clause */
/* Structures of callers that begin with their size, as all options and callbacks of the public headers do. */
#ifndef COMMON_STRUCTURE_H
#define COMMON_STRUCTURE_H

#include <stddef.h>

/*
 * Copies the caller's structure `given`, whose first member is its size, to `taken`, which has `size` bytes in this
 * version. Members that `given` lacks become 0. `name`: name of the structure, for messages. PTL_MISUSE: the size was
 * not set. PTL_UNSUPPORTED: a member unknown to this version is not 0.
 */
int common_structure_take(const char *name, const void *given, void *taken, size_t size);

/* As common_structure_take, but `given` may be NULL: then all of `taken` becomes 0. */
int common_structure_take_optional(const char *name, const void *given, void *taken, size_t size);

#endif
