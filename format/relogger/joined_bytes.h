/* SPDX-License-Identifier: BSD-2-Clause */
/* Merges the bytes of streams that are parts of one stream. */
#ifndef FORMAT_RELOGGER_JOINED_BYTES_H
#define FORMAT_RELOGGER_JOINED_BYTES_H

#include <ptl/relogger.h>

#include "format/relogger/stream.h"

/* Passes the bytes of a leader and its members: each byte once, in the order of the original positions. */
int format_relogger_pass_joined(struct ptl_relogger *relogger, struct format_relogger_stream *leader);

#endif
