/* SPDX-License-Identifier: BSD-2-Clause */
/* Ends the recording of processes whose threads all wait in system calls. */
#ifndef RECORD_SOFTWARE_KICK_H
#define RECORD_SOFTWARE_KICK_H

#include "record/channel/source.h"

/*
 * Makes one waiting thread of each process go on natively; the thread releases the other threads. Called after the end
 * of recording. An untraceable process keeps the runtime until one of its system calls ends.
 */
void software_kick_all(const struct record_channel *channel);

#endif
