/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of the sideband: rings deliver bytes, and the decoder makes records. */
#ifndef RECORD_PERF_SIDEBAND_STATE_H
#define RECORD_PERF_SIDEBAND_STATE_H

#include "record/perf/sideband.h"
#include "record/perf/signal_event.h"

/*
 * Decodes a kernel record; record->name points into data. An invalid record becomes RECORD_SIDEBAND_NONE. signals: samples with
 * raw data are records of this tracepoint.
 */
void record_sideband_decode(const void *data, size_t size, const struct record_signal_event *signals,
			    struct record_sideband_record *record);

#endif
