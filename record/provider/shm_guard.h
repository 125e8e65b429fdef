/* SPDX-License-Identifier: BSD-2-Clause */
/* Touching a file that is mapped and that somebody else may cut short. */
#ifndef RECORD_PROVIDER_SHM_GUARD_H
#define RECORD_PROVIDER_SHM_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Puts the handler of SIGBUS in place; called before such a file is mapped. A SIGBUS of any other
 * cause ends the program as ever.
 */
void record_guard_start(void);

/*
 * Calls function, which touches shared memory and does nothing that could not be left in its
 * middle. false: the memory was not there any more (SIGBUS), and the function did not return.
 * Calls do not nest.
 */
bool record_guard(void (*function)(void *context), void *context);

/* Copies out of shared memory; false: it is not there any more. */
bool record_guard_copy(void *to, const void *from, size_t size);

#endif
