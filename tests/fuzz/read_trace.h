/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads everything in a trace: events with fields, streams, blobs, buffers. */
#ifndef TESTS_FUZZ_READ_TRACE_H
#define TESTS_FUZZ_READ_TRACE_H

#include <stdint.h>
#include <stdlib.h>

#include <ptl/reader.h>

#define SIZE_LIMIT (1u << 20)
#define READS_MAX 2000 /* reads per stream: holes may make a stream much longer than the file */

static int visit(void *context, const struct ptl_value *value)
{
	(void)value;
	return ++*(unsigned *)context > 10000 ? PTL_CANCELLED : 0;
}

static int take_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	const struct ptl_schema *schema = ptl_schema_of(trace, event);
	uint64_t *sum = context;
	unsigned fields = 0;

	*sum += event->time + event->flags;
	for (size_t i = 0; i < event->payload_size; i++)
		*sum += event->payload[i];
	for (size_t i = 0; i < event->extended_count; i++)
		if (event->extended[i].size)
			*sum += event->extended[i].data[event->extended[i].size - 1];
	if (schema)
		ptl_payload_decode(schema, event->payload, event->payload_size, visit, &fields, NULL);
	return 0;
}

static void read_stream(struct ptl_trace *trace, const struct ptl_stream *stream)
{
	uint8_t data[4096];
	const struct ptl_psb *psbs;
	uint64_t at = 0, hole;
	size_t got, count;

	for (unsigned reads = 0; reads < READS_MAX; reads++) {
		if (ptl_stream_read(trace, stream->id, at, data, sizeof(data), &got, &hole) || !(got + hole))
			break;
		at += got + hole;
	}
	ptl_psb_index(trace, stream->id, &psbs, &count);
}

static void read_everything(struct ptl_trace *trace)
{
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = take_event};
	uint8_t *data;
	size_t size;
	uint64_t sum = 0;

	ptl_process(trace, NULL, &callbacks, &sum);
	for (size_t i = 0; i < ptl_stream_count(trace); i++)
		read_stream(trace, ptl_stream_at(trace, i));
	for (size_t i = 0; i < ptl_blob_count(trace); i++)
		if (ptl_blob_read(trace, ptl_blob_at(trace, i)->hash, SIZE_LIMIT, &data, &size) == 0)
			free(data);
	for (size_t i = 0; i < ptl_buffer_count(trace); i++)
		if (ptl_buffer_read(trace, i, &data, &size) == 0)
			free(data);
	/* Damage must lie inside the file. */
	for (size_t i = 0; i < ptl_damage_count(trace); i++)
		if (ptl_damage_at(trace, i)->offset > ptl_trace_size(trace))
			abort();
}

#endif
