/* SPDX-License-Identifier: BSD-2-Clause */
/* The software source: QEMU and its plugin. */
#ifndef RECORD_QEMU_SESSION_H
#define RECORD_QEMU_SESSION_H

#include "record/session/source.h"

extern const struct record_source record_qemu_source;

#endif
