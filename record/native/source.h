/* SPDX-License-Identifier: BSD-2-Clause */
/* Recording without packets: the command runs natively, under observation. */
#ifndef RECORD_NATIVE_SOURCE_H
#define RECORD_NATIVE_SOURCE_H

#include "record/session/source.h"

extern const struct record_source record_native_source;

#endif
