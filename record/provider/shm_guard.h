/* SPDX-License-Identifier: BSD-2-Clause */
/* Accesses mapped files that another process may truncate. */
#ifndef RECORD_PROVIDER_SHM_GUARD_H
#define RECORD_PROVIDER_SHM_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* Installs the handler of SIGBUS, before such a file is mapped. Other causes of SIGBUS still end the program. */
void record_guard_start(void);

/*
 * Calls function, which accesses shared memory and may be abandoned at any point. Returns false after a SIGBUS: the
 * memory vanished. Calls do not nest.
 */
bool record_guard(void (*function)(void *context), void *context);

/* Copies from shared memory. Returns false if the memory vanished. */
bool record_guard_copy(void *to, const void *from, size_t size);

#endif
