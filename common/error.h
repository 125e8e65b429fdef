/* SPDX-License-Identifier: BSD-2-Clause */
/* How PTL's code reports failures: a status and a thread-local chain of causes. */
#ifndef COMMON_ERROR_H
#define COMMON_ERROR_H

#include <ptl/error.h>

/*
 * Starts a new chain in this thread with the innermost cause. Returns `status`, so that a failing function can say
 * `return common_fail(PTL_CORRUPT, "offset %zu: ...", ...)`. The chain is a fixed thread-local array and needs no
 * allocation; a text that does not fit is cut.
 */
int common_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

/* Like common_fail(PTL_SYSTEM, ...), and appends strerror(errno) as the innermost cause. */
int common_fail_errno(const char *format, ...) __attribute__((format(printf, 1, 2), cold));

/*
 * Puts an outer cause before the chain left by a callee. Returns `status` unchanged: `return common_fail_in(status,
 * "%s", path)` turns "offset 3: bad" into "a.ptl: offset 3: bad".
 */
int common_fail_in(int status, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

/* Fails with PTL_NO_MEMORY and the standard text. what: name of the object; bytes: size of the failed allocation. */
int common_fail_memory(const char *what, size_t bytes) __attribute__((cold));

#endif
