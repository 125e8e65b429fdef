/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes formats of tracepoints. Input: a format up to a zero byte, then a record. The decoded record must fit the
 * schema of the format.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "perf/trace_format.h"
#include "perf/tracing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int visit(void *context, const struct ptl_value *value)
{
	volatile uint8_t *sum = context;

	for (size_t i = 0; value->bytes && i < value->size; i++)
		*sum = (uint8_t)(*sum + value->bytes[i]);
	return 0;
}

static void check(const struct perf_trace_format *format, const uint8_t *raw, size_t size)
{
	const struct ptl_schema schema = {
		.provider_name = "", .event_name = "", .fields = format->described, .field_count = format->field_count};
	struct ptl_bytes payload = {0};
	uint8_t sum = 0;
	size_t rest;

	if (perf_trace_format_payload(format, raw, size, &payload) &&
	    (ptl_payload_decode(&schema, payload.data, payload.size, visit, &sum, &rest) || rest))
		abort();
	for (size_t i = 0; i < format->map_count; i++)
		for (size_t k = 0; k < format->maps[i].map.count; k++)
			sum = (uint8_t)(sum + strlen(format->maps[i].map.entries[k].name));
	common_bytes_free(&payload);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t length = strnlen((const char *)data, size), used = length < size ? length + 1 : length;
	struct perf_trace_format format;
	struct perf_tracing tracing = {0};

	if (!perf_trace_format_parse((const char *)data, length, &format))
		check(&format, data + used, size - used);
	perf_trace_format_free(&format);
	perf_tracing_add(&tracing, data, size);
	perf_tracing_free(&tracing);
	return 0;
}
