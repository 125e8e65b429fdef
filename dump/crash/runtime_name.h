/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of functions and libraries that end a program on behalf of another function. */
#ifndef DUMP_CRASH_RUNTIME_NAME_H
#define DUMP_CRASH_RUNTIME_NAME_H

#include "analysis/function/function_table.h"

/* Whether the function belongs to the C library or to the run time of a language. Such a function is no place of a failure. */
bool dump_crash_is_runtime(const char *name, const char *image);
/* Whether the function begins every program or thread: _start, __libc_start_main. */
bool dump_crash_is_start(const char *name);
/* Whether the function ends the process with a status: exit, _exit. */
bool dump_crash_is_exit(const char *name);
/* Whether the function sends a signal to its own process: abort, raise. */
bool dump_crash_sends_signal(const char *name);
/* Whether the function waits until another thread releases a lock. */
bool dump_crash_is_lock(const char *name);
/* Whether the function raises an exception or a panic. */
bool dump_crash_raises(const struct analysis_function *function);
/* Whether a panic raised by this function ends the process with this exit status. */
bool dump_crash_raise_exits(const char *name, uint32_t exit_status);
/* Returns the meaning of a call of this function: "a failed assertion"; NULL: unknown. */
const char *dump_crash_reason(const char *name);

#endif
