/* SPDX-License-Identifier: BSD-2-Clause */
/* The source of processes beside a main source that does not observe native ones. */
#ifndef RECORD_KERNEL_SOURCE_H
#define RECORD_KERNEL_SOURCE_H

#include "record/session/source.h"

/* Sets session->observer, who reports those processes alone that others come across. */
extern const struct record_source record_kernel_source;

#endif
