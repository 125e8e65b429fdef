/* SPDX-License-Identifier: BSD-2-Clause */
/* Passes an event through the stages to the output. */
#ifndef FORMAT_RELOGGER_PASS_H
#define FORMAT_RELOGGER_PASS_H

#include <stddef.h>

#include <ptl/relogger.h>

/* Passes an event to the first stage from `stage` on with an event callback, or to the file. */
int format_relogger_pass(struct ptl_relogger *relogger, size_t stage, const struct ptl_event *event,
			 struct ptl_relogger_input *input);

#endif
