/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts the runtime into a running process. */
#ifndef RECORD_SOFTWARE_ATTACH_H
#define RECORD_SOFTWARE_ATTACH_H

#include <stdint.h>
#include <stdio.h>

#include "record/channel/channel.h"

/*
 * Attaches to all threads of the process, and returns once they run translated code. A child process does the work, so
 * that no half-done attachment is left if the recorder is killed.
 * PTL_SYSTEM, PTL_UNSUPPORTED: the process continues unchanged; the error text gives the reason and the remedy.
 */
int software_attach(const struct channel *channel, uint32_t pid);

#endif
