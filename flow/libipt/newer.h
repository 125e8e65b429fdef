/* SPDX-License-Identifier: BSD-2-Clause */
/* Differences between libipt 2.0 and libipt 2.1 or later. The engine gives the same flow with all versions. */
#ifndef FLOW_LIBIPT_NEWER_H
#define FLOW_LIBIPT_NEWER_H

#include "flow/libipt/engine.h"

#define LIBIPT_EVENTS_MAX 3 /* maximum number of PTL events for one libipt event */

/* Checks whether PTL was built with libipt 2.1 or later, and runs with libipt 2.1 or later. */
bool libipt_newer(void);

/* Marks each MODE.Exec of a segment, so that libipt reports even packets without a change. */
void libipt_newer_mark(const struct flow_errata *errata, uint8_t *bytes, size_t size);

/* Requests events of the interrupt flag, in a decoder's member of struct pt_conf_flags. */
#if LIBIPT_VERSION >= 0x201
#define LIBIPT_NEWER_CONFIGURE(flags) ((flags).enable_iflags_events = 1)
#else
#define LIBIPT_NEWER_CONFIGURE(flags) ((void)(flags))
#endif

/*
 * Converts an event of the interrupt flag to an event of the mode. Returns false if the mode event was already given.
 */
bool libipt_newer_event(struct libipt_engine *engine, struct pt_event *event);

/*
 * Checks whether the decoder has reached the end of the packets, where only TNT bits, TIPs and announced events remain.
 */
bool libipt_newer_is_at_end(struct libipt_engine *engine);

/*
 * Converts an event of event trace. `to` has room for LIBIPT_EVENTS_MAX events. Returns the number of events; 0:
 * another event.
 */
size_t libipt_newer_translate(const struct pt_event *from, struct flow_event *to);

#endif
