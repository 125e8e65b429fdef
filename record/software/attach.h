/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts the runtime into a running process. */
#ifndef RECORD_SOFTWARE_ATTACH_H
#define RECORD_SOFTWARE_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#include "record/channel/channel.h"

/*
 * Checks what can be known before an attachment. *is_stopped: a signal such as SIGSTOP has stopped the process.
 * PTL_SYSTEM, PTL_UNSUPPORTED: the error text gives the reason and the remedy.
 */
int software_attach_check(uint32_t pid, bool *is_stopped);

/*
 * Attaches to all threads of the process, and returns once they run translated code. A child process does the work, so
 * that no half-done attachment is left if the recorder is killed.
 * PTL_SYSTEM, PTL_UNSUPPORTED: the process continues unchanged; the error text gives the reason and the remedy.
 */
int software_attach(const struct channel *channel, uint32_t pid);

#endif
