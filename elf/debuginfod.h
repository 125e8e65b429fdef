/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Debug files from debuginfod servers, only on the user's request. Uses the client library of elfutils, which is loaded
 * on demand.
 */
#ifndef ELF_DEBUGINFOD_H
#define ELF_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Enables queries of the servers in $DEBUGINFOD_URLS, as the last step of elf_debug_search. PTL_MISUSE if the variable
 * is unset or empty, PTL_UNSUPPORTED without the client library. Not thread-safe.
 */
int elf_debuginfod_enable(void);
bool elf_debuginfod_enabled(void);

/* hold: suspends all queries until a call with false, for a caller that must not wait. Not thread-safe. */
void elf_debuginfod_hold(bool hold);
/*
 * Sets a function that is polled while waiting for a server. If `stop` returns true, the wait ends and no more queries
 * are made.
 */
void elf_debuginfod_stop_if(bool (*stop)(void));

/*
 * Queries the servers for the debug file of a build id and waits for the answer. Returns a close-on-exec descriptor; -1
 * if no server has the file, or queries are disabled.
 */
int elf_debuginfod_open(const uint8_t *build_id, size_t size);

/* Warns once if a server did not answer, as names and lines may be missing. */
void elf_debuginfod_warn(void);

#endif
