/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a recording for processes whose threads all wait in system calls. */
#ifndef RECORD_SOFTWARE_KICK_H
#define RECORD_SOFTWARE_KICK_H

#include "record/channel/source.h"

/*
 * Lets a thread of each process that waits in system calls go on natively; that thread takes the others along. Recording has ended.
 * A process that may not be traced keeps the runtime until one of its system calls ends.
 */
void software_kick_all(const struct record_channel *channel);

#endif
