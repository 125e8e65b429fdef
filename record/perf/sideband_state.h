/* SPDX-License-Identifier: BSD-2-Clause */
/* What the sideband's two files share: rings give bytes, and those make records. */
#ifndef RECORD_PERF_SIDEBAND_STATE_H
#define RECORD_PERF_SIDEBAND_STATE_H

#include "record/perf/sideband.h"

/* Reads a record as the kernel writes it; record->name points into data. What is invalid is RECORD_SIDEBAND_NONE. */
void record_sideband_decode(const void *data, size_t size, struct record_sideband_record *record);

#endif
