/* SPDX-License-Identifier: BSD-2-Clause */
/* Demangles function names. */
#ifndef ELF_DEMANGLE_H
#define ELF_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/bytes.h"

/*
 * Limit for a demangled name, in bytes. Back references let a short mangled name expand to any length; real names reach
 * a few thousand bytes.
 */
#define ELF_DEMANGLED_MAX ((size_t)16 << 10)

/*
 * Sets `plain` to the demangled C++ or Rust name of the linker name `name`. A suffix from "@" on is kept. Returns
 * false, and an empty `plain`, if `name` is not mangled, or the result would exceed ELF_DEMANGLED_MAX.
 */
bool elf_demangle(const char *name, struct ptl_bytes *plain);

#endif
