/* SPDX-License-Identifier: BSD-2-Clause */
/* For a stage that has to know what comes next before it decides about what is there, where the input is still being written. */
#ifndef FORMAT_RELOGGER_AHEAD_H
#define FORMAT_RELOGGER_AHEAD_H

#include <ptl/relogger.h>

/* Whether the one input is being written; from `begin` on. */
bool format_relogger_is_live(const struct ptl_relogger *relogger);
/*
 * In the begin callback of one stage, with such an input: event gets each event of the input, in order and as it is there, before any
 * stage does, and everything else then passes FORMAT_AHEAD later. Losses and attachments pass when all events have. PTL_NO_MEMORY.
 */
int format_relogger_look_ahead(struct ptl_relogger *relogger,
			       int (*event)(void *context, const struct ptl_event *event), void *context);
#define FORMAT_AHEAD ((uint64_t)1000000000) /* ns */
/* Before anything else passes, stages are asked again about the streams that they dropped, of which nothing is lost. */
void format_relogger_ask_again(struct ptl_relogger *relogger);

#endif
