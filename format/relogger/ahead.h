/* SPDX-License-Identifier: BSD-2-Clause */
/* Lets a stage see future events before it decides about present ones, while the input is being written. */
#ifndef FORMAT_RELOGGER_AHEAD_H
#define FORMAT_RELOGGER_AHEAD_H

#include <ptl/relogger.h>

/* Whether the only input is being written; valid from `begin` on. */
bool format_relogger_is_live(const struct ptl_relogger *relogger);
/*
 * Called in the begin callback of one stage, with such an input. event() gets each event of the input, in order and
 * unchanged, before any stage; everything else then passes FORMAT_AHEAD later. Losses and attachments pass after all
 * events. PTL_NO_MEMORY.
 */
int format_relogger_look_ahead(struct ptl_relogger *relogger,
			       int (*event)(void *context, const struct ptl_event *event), void *context);
#define FORMAT_AHEAD ((uint64_t)1000000000) /* delay in ns */
/*
 * Asks the stages again about the streams they dropped, before anything else passes. No bytes of these streams have
 * been lost.
 */
void format_relogger_ask_again(struct ptl_relogger *relogger);

#endif
