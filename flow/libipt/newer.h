/* SPDX-License-Identifier: BSD-2-Clause */
/* What libipt 2.1 and later tell otherwise than libipt 2.0, so that the engine gives the same flow with both. */
#ifndef FLOW_LIBIPT_NEWER_H
#define FLOW_LIBIPT_NEWER_H

#include "flow/libipt/engine.h"

#define LIBIPT_EVENTS_MAX 3 /* events of PTL for one event of libipt */

/* Whether this is libipt 2.1 or later, when PTL was built and now. */
bool libipt_newer(void);

/* Marks each MODE.Exec of a segment, so that libipt reports packets that change nothing. */
void libipt_newer_mark(const struct flow_errata *errata, uint8_t *bytes, size_t size);

/* Asks for events of the interrupt flag, in a decoder's member of struct pt_conf_flags. */
#if LIBIPT_VERSION >= 0x201
#define LIBIPT_NEWER_CONFIGURE(flags) ((flags).enable_iflags_events = 1)
#else
#define LIBIPT_NEWER_CONFIGURE(flags) ((void)(flags))
#endif

/* Turns an event of the interrupt flag into one of the mode. false: the mode's event has been given. */
bool libipt_newer_event(struct libipt_engine *engine, struct pt_event *event);

/* Whether nothing but TNT bits, TIPs and announced events lie at the end of the packets, and the decoder has come there. */
bool libipt_newer_is_at_end(struct libipt_engine *engine);

/* Translates an event of event trace to `to`, which has room for LIBIPT_EVENTS_MAX. Returns how many; 0: another event. */
size_t libipt_newer_translate(const struct pt_event *from, struct flow_event *to);

#endif
