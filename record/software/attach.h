/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts the runtime into a process that runs already. */
#ifndef RECORD_SOFTWARE_ATTACH_H
#define RECORD_SOFTWARE_ATTACH_H

#include <stdint.h>
#include <stdio.h>

#include "record/channel/channel.h"

/*
 * Attaches to all threads of the process and returns when they go on in translated code. Another process of ours does the work, so
 * that nothing is left half done if the recorder is killed. PTL_SYSTEM, PTL_UNSUPPORTED: the process goes on as if nothing had
 * happened; the error's text says why, and what to do.
 */
int software_attach(const struct channel *channel, uint32_t pid);

#endif
