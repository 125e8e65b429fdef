/* SPDX-License-Identifier: BSD-2-Clause */
/* Passes the events of the inputs. */
#ifndef FORMAT_RELOGGER_EVENTS_H
#define FORMAT_RELOGGER_EVENTS_H

#include <ptl/relogger.h>

#include "format/reader/merge.h"

/* Passes an event of an input to the first stage. context: the relogger. */
int format_relogger_take_event(void *context, const struct format_merge_place *place, const struct ptl_event *event);
/* Passes all events, merged, through the stages; or copies event buffers unchanged. */
int format_relogger_pass_events(struct ptl_relogger *relogger);

#endif
