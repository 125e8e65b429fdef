/* SPDX-License-Identifier: BSD-2-Clause */
/* Debug files from debuginfod servers: only for who asks for it, through elfutils' client, which is loaded only then. */
#ifndef ELF_DEBUGINFOD_H
#define ELF_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * From now on elf_debug_search asks the servers of $DEBUGINFOD_URLS for what it finds nowhere else. PTL_MISUSE where that
 * names none, PTL_UNSUPPORTED without the client. Not for several threads.
 */
int elf_debuginfod_enable(void);
bool elf_debuginfod_enabled(void);

/* Until it is called with false, no server is asked: somebody must not wait. Not for several threads. */
void elf_debuginfod_hold(bool hold);
/* From now on stop is asked while a server is waited for: true ends that, and no server is asked any more. */
void elf_debuginfod_stop_if(bool (*stop)(void));

/* The debug file of a build id, a descriptor, close-on-exec; -1: no server has it, or none is asked. Waits for servers. */
int elf_debuginfod_open(const uint8_t *build_id, size_t size);

/* Warns if a server gave no answer, once: names and lines may be missing. */
void elf_debuginfod_warn(void);

#endif
