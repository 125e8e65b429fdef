/* SPDX-License-Identifier: BSD-2-Clause */
/* Passes the streams of bytes. */
#ifndef FORMAT_RELOGGER_STREAMS_H
#define FORMAT_RELOGGER_STREAMS_H

#include <ptl/relogger.h>

/* Passes streams of PT, TRUTH and unknown kinds. */
int format_relogger_pass_streams(struct ptl_relogger *relogger);

#endif
