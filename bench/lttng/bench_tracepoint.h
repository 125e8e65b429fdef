/* SPDX-License-Identifier: BSD-2-Clause */
/* The event of provider_bench.c for lttng-ust. lttng-ust includes this file several times. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER ptl_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "bench_tracepoint.h"

#if !defined(BENCH_TRACEPOINT_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_TRACEPOINT_H

#include <stdint.h>

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(ptl_bench, three_fields,
			   LTTNG_UST_TP_ARGS(uint64_t, first, uint64_t, second, const char *, text),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, first, first)
						       lttng_ust_field_integer(uint64_t, second, second)
							       lttng_ust_field_string(text, text)))

LTTNG_UST_TRACEPOINT_EVENT(ptl_bench, number, LTTNG_UST_TP_ARGS(uint32_t, thread, uint64_t, index),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, thread, thread)
						       lttng_ust_field_integer(uint64_t, index, index)))

#endif

#include <lttng/tracepoint-event.h>
