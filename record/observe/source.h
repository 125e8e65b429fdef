/* SPDX-License-Identifier: BSD-2-Clause */
/* The source of native processes, if the main source observes none. */
#ifndef RECORD_OBSERVE_SOURCE_H
#define RECORD_OBSERVE_SOURCE_H

#include "record/session/source.h"

/* Sets session->observer to an observer of processes met by further sources only. */
extern const struct record_source record_kernel_source;

#endif
