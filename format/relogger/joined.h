/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams of several inputs that are parts of one stream. */
#ifndef FORMAT_RELOGGER_JOINED_H
#define FORMAT_RELOGGER_JOINED_H

#include <ptl/relogger.h>

#include "format/relogger/stream.h"

/* Finds the streams of inputs that have the same origin. */
int format_relogger_join_streams(struct ptl_relogger *relogger);

#endif
