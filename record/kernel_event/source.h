/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's tracepoints, of all processes or of the command and its descendants. */
#ifndef RECORD_KERNEL_EVENT_SOURCE_H
#define RECORD_KERNEL_EVENT_SOURCE_H

#include "record/session/source.h"

extern const struct record_source record_tracepoint_source;

#endif
