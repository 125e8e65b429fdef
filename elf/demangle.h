/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of functions as in the source. */
#ifndef ELF_DEMANGLE_H
#define ELF_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/bytes.h"

/* Back references let a name of some hundred bytes stand for one of any length; real ones reach some thousand. */
#define ELF_DEMANGLED_MAX ((size_t)16 << 10)

/*
 * Replaces what plain holds with the C++ or Rust name that the linker knows as name, what follows an "@" as it is. False:
 * it is no such name, or one that would become longer than ELF_DEMANGLED_MAX; then plain is empty.
 */
bool elf_demangle(const char *name, struct ptl_bytes *plain);

#endif
