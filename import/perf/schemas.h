/* SPDX-License-Identifier: BSD-2-Clause */
/* The provider Linux-Perf: records of the kernel that are kept as events, whose ids are the records' types. */
#ifndef IMPORT_PERF_SCHEMAS_H
#define IMPORT_PERF_SCHEMAS_H

#include <ptl/event.h>

#define PERF_EVENT_TRACEPOINT 256    /* a sample of a tracepoint: its bytes */
#define PERF_EVENT_SAMPLE_DETAIL 257 /* what a sample has beside that */

extern const struct ptl_guid perf_provider;
extern const struct ptl_schema perf_schemas[];
extern const size_t perf_schema_count;

/* Of the samples of counters. */
const struct ptl_schema *perf_schema_sample(void);

#endif
