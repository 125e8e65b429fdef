/* SPDX-License-Identifier: BSD-2-Clause */
/* The provider Linux-Perf: kernel records that are kept as events. An event's id is the record's type. */
#ifndef PERF_SCHEMAS_H
#define PERF_SCHEMAS_H

#include <ptl/event.h>

#define PERF_EVENT_TRACEPOINT 256    /* raw bytes of a tracepoint's sample */
#define PERF_EVENT_SAMPLE_DETAIL 257 /* additional fields of a sample */
#define PERF_EVENT_GUEST_SAMPLE 258  /* sample of a virtual machine, in the process that runs the machine */

extern const struct ptl_guid perf_provider;
extern const struct ptl_schema perf_schemas[];
extern const size_t perf_schema_count;

/* Returns the schema of counter samples. */
const struct ptl_schema *perf_schema_sample(void);

#endif
