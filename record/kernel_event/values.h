/* SPDX-License-Identifier: BSD-2-Clause */
/* --values of native programs: events of uprobes, whose samples become events of values. */
#ifndef RECORD_KERNEL_EVENT_VALUES_H
#define RECORD_KERNEL_EVENT_VALUES_H

#include "record/kernel_event/kernel_events_state.h"

/* Turns on the probes of --values. Errors as kernel_event_parse. */
int kernel_event_values_open(struct kernel_events *state);

#endif
