/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a segment around its holes, finds the segment's end, and passes the bytes to an engine. */
#include "flow/engine/segment_flow.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/vector.h"
#include "flow/segment/guest.h"
#include "flow/segment/packets.h"
#include "flow/segment/replay.h"

#define FIRST_READ ((size_t)64 << 10)
/* Bytes of a segment beyond this size are not decoded, and become a gap. A PSB comes every few KiB. */
#define SEGMENT_LIMIT ((size_t)256 << 20)

int flow_source_open(struct flow_source *source, struct ptl_trace *trace, struct flow_code *code,
		     const struct flow_engine_class *class, const struct flow_engine_class *finder)
{
	*source = (struct flow_source){
		.trace = trace,
		.class = class,
		.finder = finder,
		.code = code,
		.errata = flow_errata_of(ptl_trace_machine(trace)),
	};
	return class->open(code, ptl_trace_machine(trace), &source->engine);
}

void flow_source_close_engines(struct flow_source *source)
{
	for (size_t i = 1; source->others && i < ptl_machine_count(source->trace); i++)
		if (source->others[i])
			source->class->close(source->others[i]);
	free(source->others);
	if (source->engine)
		source->class->close(source->engine);
	for (size_t i = 0; i < FLOW_ENGINE_PLACES; i++)
		free(source->places[i].bytes);
	*source = (struct flow_source){0};
}

/*
 * Returns the index of the machine that recorded the segment; 0: the trace's own machine. A segment has the clock and
 * the errata of its machine.
 */
static size_t machine_of(const struct flow_source *source, const struct flow_segment *segment)
{
	const uint32_t id = segment->cpu != PTL_NO_CPU ? segment->cpu : segment->pid;
	const size_t index = id == PTL_NO_ID ? 0 : id / PTL_MACHINE_IDS;

	return index < ptl_machine_count(source->trace) && ptl_machine_at(source->trace, index) ? index : 0;
}

static struct flow_errata errata_of(const struct flow_source *source, const struct flow_segment *segment)
{
	const size_t index = machine_of(source, segment);

	return index ? flow_errata_of(ptl_machine_at(source->trace, index)) : source->errata;
}

static int engine_of(struct flow_source *source, const struct flow_segment *segment, struct flow_engine **engine)
{
	const size_t count = ptl_machine_count(source->trace), index = machine_of(source, segment);

	*engine = source->engine;
	if (!index)
		return 0;
	if (!source->others)
		source->others = calloc(count, sizeof(struct flow_engine *));
	if (!source->others)
		return common_fail_memory("decoders", count * sizeof(struct flow_engine *));
	if (!source->others[index]) {
		const int status = source->class->open(source->code, ptl_machine_at(source->trace, index),
						       &source->others[index]);

		if (status)
			return status;
	}
	*engine = source->others[index];
	return 0;
}

static int give_gap(const struct flow_segment *segment, const struct flow_sink *sink, enum flow_gap_cause cause,
		    uint64_t offset, uint64_t size)
{
	const struct flow_event event = {
		.kind = FLOW_GAP,
		.cause = cause,
		.time = segment->time,
		.offset = offset,
		.size = size,
	};
	const struct flow_batch batch = {.events = &event, .event_count = 1};

	return size ? sink->take(sink->context, &batch) : 0;
}

static int make_segment_room(struct flow_segment_bytes *place, size_t size)
{
	const size_t needed = size + FLOW_ENGINE_ROOM;

	return COMMON_VECTOR_RESERVE(place->bytes, place->capacity, needed < FIRST_READ ? FIRST_READ : needed,
				     "segment");
}

/* Reads the segment's bytes up to the first hole. */
static int read_whole(struct flow_source *source, struct flow_segment_bytes *place, const struct flow_segment *segment,
		      size_t *size)
{
	size_t want = segment->size < SEGMENT_LIMIT ? (size_t)segment->size : SEGMENT_LIMIT;

	*size = 0;
	while (*size < want) {
		size_t part = want - *size, got;
		uint64_t hole;
		int status;

		/* The size comes from the file and may be wrong, so memory grows with the bytes actually read. */
		if (part > *size && part > FIRST_READ)
			part = *size > FIRST_READ ? *size : FIRST_READ;
		status = make_segment_room(place, *size + part);
		if (!status)
			status = ptl_stream_read(source->trace, segment->stream, segment->offset + *size,
						 place->bytes + *size, part, &got, &hole);
		if (status < 0)
			return status;
		if (!got)
			break;
		*size += got;
	}
	return 0;
}

/*
 * Moves *offset behind the zeros at the beginning of a segment without a PSB: the unwritten part of a ring is padding.
 * Only a few zeros may be the rest of a packet, and stay.
 */
static int skip_unwritten(struct flow_source *source, struct flow_segment_bytes *place,
			  const struct flow_segment *segment, uint64_t *offset)
{
	const uint64_t end = segment->offset + segment->size;
	uint64_t at = *offset, hole;
	size_t zeros = FIRST_READ, got = FIRST_READ;
	int status = 0;

	while (!status && got && zeros == got && at < end) {
		const size_t part = end - at < FIRST_READ ? (size_t)(end - at) : FIRST_READ;

		status = ptl_stream_read(source->trace, segment->stream, at, place->bytes, part, &got, &hole);
		if (status < 0)
			return status;
		for (zeros = 0; zeros < got && !place->bytes[zeros]; zeros++)
			;
		at += zeros;
	}
	if (at - *offset > PTL_PT_PACKET_MAX)
		*offset = at;
	return status;
}

int flow_segment_skip_rest(struct flow_source *source, struct flow_segment_bytes *place,
			   const struct flow_segment *segment, uint64_t offset, const struct flow_sink *sink)
{
	uint64_t end = segment->offset + segment->size, start;
	int status = make_segment_room(place, FIRST_READ);

	if (!status && !segment->has_psb)
		status = skip_unwritten(source, place, segment, &offset);
	start = offset;
	while (!status && offset < end) {
		size_t part = end - offset < FIRST_READ ? (size_t)(end - offset) : FIRST_READ, got;
		uint64_t hole;

		status = ptl_stream_read(source->trace, segment->stream, offset, place->bytes, part, &got, &hole);
		offset += status < 0 ? 0 : got;
		if (status < 0 || got)
			continue;
		if (!hole || hole > end - offset)
			hole = end - offset;
		status = give_gap(segment, sink, FLOW_GAP_SYNC, start, offset - start);
		if (!status)
			status = give_gap(segment, sink, FLOW_GAP_LOST, offset, hole);
		offset += hole;
		start = offset;
	}
	return status < 0 ? status : give_gap(segment, sink, FLOW_GAP_SYNC, start, offset - start);
}

/* Reads the next segment's PSB+ to find how this segment ends. */
static int look_ahead(struct flow_source *source, const struct flow_segment *segment, const struct flow_errata *errata,
		      struct flow_engine_input *input)
{
	struct flow_psb_plus next;
	uint8_t bytes[FLOW_PSB_PLUS_MAX];
	uint64_t hole;
	size_t got;
	int status = ptl_stream_read(source->trace, segment->stream, segment->offset + segment->size, bytes,
				     sizeof(bytes), &got, &hole);

	if (status < 0)
		return status;
	flow_psb_plus_read(bytes, got, errata, &next);
	input->has_next = next.complete;
	input->next_ip_known = next.complete && next.has_ip;
	input->next_ip = next.ip;
	return 0;
}

/* Callback: checks whether flow in VMX non-root operation is of a guest whose code the process lacks. */
static int has_guests(void *context, const struct flow_engine_input *input)
{
	struct flow_source *source = context;
	const struct flow_errata errata = errata_of(source, input->segment);
	const size_t machine = machine_of(source, input->segment);
	const uint8_t code =
		(machine ? ptl_machine_at(source->trace, machine) : ptl_trace_machine(source->trace))->guest_code;
	int status = 0;

	if (source->guests_machine != machine + 1)
		status = flow_guest_has_host(source->trace, machine, &errata, &source->has_guests);
	if (status < 0)
		return status;
	source->guests_machine = machine + 1;
	if (!source->has_guests)
		return FLOW_GUEST_NONE;
	if (code == PTL_GUEST_CODE_ALL)
		return FLOW_GUEST_SHARED;
	return code == PTL_GUEST_CODE_USER && !flow_guest_is_in_kernel(input->bytes, input->size, &errata)
		       ? FLOW_GUEST_SHARED
		       : FLOW_GUEST_APART;
}

int flow_segment_prepare(struct flow_source *source, struct flow_segment_bytes *place,
			 const struct flow_segment *segment, struct flow_engine_input *input)
{
	const struct flow_errata errata = errata_of(source, segment);
	int status;

	*input = (struct flow_engine_input){.segment = segment, .has_guests = has_guests, .guests_context = source};
	status = read_whole(source, place, segment, &input->size);
	if (!status && segment->has_next && input->size == segment->size)
		status = look_ahead(source, segment, &errata, input);
	input->has_next |= segment->ends_disabled;
	input->bytes = place->bytes;
	if (!status && segment->skip && input->size && !source->class->takes_parts)
		status = flow_segment_replay(place->bytes, input->size,
					     segment->skip < input->size ? (size_t)segment->skip : input->size,
					     &errata);
	return status;
}

int flow_segment_skip_all(const struct flow_segment *segment, const struct flow_sink *sink)
{
	return give_gap(segment, sink, FLOW_GAP_SWITCH, segment->offset + segment->skip, segment->size - segment->skip);
}

int flow_produce_between(struct flow_source *source, const struct flow_segment *segment, const struct flow_sink *sink,
			 const struct flow_ends *ends)
{
	struct flow_segment_bytes *place = &source->places[0];
	struct flow_engine_input input;
	struct flow_engine *engine;
	int status;

	if (segment->unknown)
		return flow_segment_skip_all(segment, sink);
	if (!segment->has_psb)
		return flow_segment_skip_rest(source, place, segment, segment->offset, sink);
	status = engine_of(source, segment, &engine);
	if (!status)
		status = flow_segment_prepare(source, place, segment, &input);
	if (!status && ends) {
		input.calls_before = ends->calls_before;
		input.calls_context = input.process_context = ends->context;
		input.calls_after = ends->calls_after;
		input.process = ends->process;
	}
	if (!status && input.size)
		status = source->class->decode(engine, &input, sink);
	if (status == PTL_CORRUPT && segment->skip)
		return flow_segment_skip_all(segment, sink);
	/* The hole may hide calls. */
	if (ends && ends->calls_after && input.size < segment->size)
		*ends->calls_after = (struct flow_return_stack){.lost = true};
	if (!status)
		status = flow_segment_skip_rest(source, place, segment, segment->offset + input.size, sink);
	return status;
}
