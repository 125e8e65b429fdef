/* SPDX-License-Identifier: BSD-2-Clause */
/* A recording by this source: its `record` in the table of sources. */
#ifndef RECORD_NATIVE_SESSION_H
#define RECORD_NATIVE_SESSION_H

#include "record/session/source.h"

int record_native_session(const struct record_source *source, const struct record_settings *settings);

#endif
