/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes timelines as Perfetto traces: packets of track events in sequences. A sequence gives each name once, and
 * timestamps are deltas. Field numbers are from protos/perfetto/trace in Perfetto's sources.
 */
#include <string.h>

#include "common/vector.h"
#include "dump/export/protobuf.h"
#include "dump/export/timeline/timeline.h"

enum { TRACE_PACKET = 1 };
enum packet {
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE_ID = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_CLOCK_ID = 58,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK_DESCRIPTOR = 60,
};
enum { DEFAULTS_TRACK_EVENT = 11, DEFAULTS_TRACK_UUID = 11 };
enum { FLAG_CLEARED = 1, FLAG_NEEDED = 2 };
enum { SNAPSHOT_CLOCKS = 1, CLOCK_ID = 1, CLOCK_TIMESTAMP = 2, CLOCK_INCREMENTAL = 3 };
enum { CLOCK_BOOT = 6, CLOCK_OWN = 64 };
enum descriptor {
	DESCRIPTOR_UUID = 1,
	DESCRIPTOR_NAME = 2,
	DESCRIPTOR_PROCESS = 3,
	DESCRIPTOR_THREAD = 4,
	DESCRIPTOR_PARENT = 5,
	DESCRIPTOR_COUNTER = 8,
};
enum { PROCESS_PID = 1, PROCESS_COMMAND_LINE = 2, PROCESS_NAME = 6 };
enum { THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
enum event {
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK_UUID = 11,
	EVENT_COUNTER_VALUE = 30,
	EVENT_FLOW_IDS = 47,
};
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum { INTERNED_EVENT_NAMES = 2, INTERNED_IID = 1, INTERNED_NAME = 2 };

/* Sequence of track descriptors. A descriptor needs no incremental state, but each packet must belong to a sequence. */
#define FIRST_SEQUENCE 1

static void put_packet(struct dump_timeline_output *output)
{
	dump_proto_message(&output->bytes, TRACE_PACKET, &output->packet);
}

/* ---- tracks -------------------------------------------------------------------------------------- */

static void put_descriptor(struct dump_timeline_output *output)
{
	dump_proto_u64(&output->packet, PACKET_SEQUENCE_ID, FIRST_SEQUENCE);
	dump_proto_message(&output->packet, PACKET_TRACK_DESCRIPTOR, &output->message);
	put_packet(output);
}

static void begin_descriptor(struct dump_timeline_output *output, uint32_t track, uint32_t parent)
{
	dump_proto_u64(&output->message, DESCRIPTOR_UUID, track);
	if (parent)
		dump_proto_u64(&output->message, DESCRIPTOR_PARENT, parent);
}

static void process(struct dump_timeline_output *output, uint32_t track, const char *name, const char *command_line)
{
	dump_proto_u64(&output->inner, PROCESS_PID, output->tracks[track].pid);
	dump_proto_string(&output->inner, PROCESS_NAME, name);
	if (*command_line)
		dump_proto_string(&output->inner, PROCESS_COMMAND_LINE, command_line);
	begin_descriptor(output, track, DUMP_TIMELINE_NONE);
	dump_proto_message(&output->message, DESCRIPTOR_PROCESS, &output->inner);
	put_descriptor(output);
}

static void thread(struct dump_timeline_output *output, uint32_t track, uint32_t parent, const char *name)
{
	dump_proto_u64(&output->inner, THREAD_PID, output->tracks[track].pid);
	dump_proto_u64(&output->inner, THREAD_TID, output->tracks[track].tid);
	dump_proto_string(&output->inner, THREAD_NAME, name);
	begin_descriptor(output, track, parent);
	dump_proto_message(&output->message, DESCRIPTOR_THREAD, &output->inner);
	put_descriptor(output);
}

static void row(struct dump_timeline_output *output, uint32_t track, uint32_t parent, const char *name)
{
	begin_descriptor(output, track, parent);
	dump_proto_string(&output->message, DESCRIPTOR_NAME, name);
	put_descriptor(output);
}

static void counter(struct dump_timeline_output *output, uint32_t track, uint32_t parent, const char *name)
{
	begin_descriptor(output, track, parent);
	dump_proto_string(&output->message, DESCRIPTOR_NAME, name);
	dump_proto_message(&output->message, DESCRIPTOR_COUNTER, &output->inner);
	put_descriptor(output);
}

/* ---- sequences ----------------------------------------------------------------------------------- */

static void put_clock(struct dump_timeline_output *output, uint32_t id, uint64_t time)
{
	dump_proto_u64(&output->inner, CLOCK_ID, id);
	dump_proto_u64(&output->inner, CLOCK_TIMESTAMP, time);
	if (id == CLOCK_OWN)
		dump_proto_u64(&output->inner, CLOCK_INCREMENTAL, 1);
	dump_proto_message(&output->message, SNAPSHOT_CLOCKS, &output->inner);
}

/* Starts an incremental state: interned names are cleared, and timestamps are deltas from this one. */
static void sequence(struct dump_timeline_output *output, uint32_t track, uint64_t time)
{
	output->sequence = (output->sequence ? output->sequence : FIRST_SEQUENCE) + 1;
	output->last_time = time;
	output->default_track = track;
	put_clock(output, CLOCK_BOOT, time);
	put_clock(output, CLOCK_OWN, time);
	dump_proto_message(&output->packet, PACKET_CLOCK_SNAPSHOT, &output->message);
	dump_proto_u64(&output->packet, PACKET_SEQUENCE_ID, output->sequence);
	dump_proto_u64(&output->packet, PACKET_SEQUENCE_FLAGS, FLAG_CLEARED);
	dump_proto_u64(&output->inner, DEFAULTS_TRACK_UUID, track);
	dump_proto_message(&output->message, DEFAULTS_TRACK_EVENT, &output->inner);
	dump_proto_u64(&output->message, PACKET_CLOCK_ID, CLOCK_OWN);
	dump_proto_message(&output->packet, PACKET_DEFAULTS, &output->message);
	put_packet(output);
}

/* ---- events -------------------------------------------------------------------------------------- */

/* Writes the event in `message`. A time before the last one is written as an absolute time. */
static void put_event(struct dump_timeline_output *output, uint32_t track, uint64_t time)
{
	if (track != output->default_track)
		dump_proto_u64(&output->message, EVENT_TRACK_UUID, track);
	if (time < output->last_time) {
		dump_proto_u64(&output->packet, PACKET_TIMESTAMP, time);
		dump_proto_u64(&output->packet, PACKET_CLOCK_ID, CLOCK_BOOT);
	} else {
		dump_proto_u64(&output->packet, PACKET_TIMESTAMP, time - output->last_time);
		output->last_time = time;
	}
	dump_proto_u64(&output->packet, PACKET_SEQUENCE_ID, output->sequence);
	dump_proto_u64(&output->packet, PACKET_SEQUENCE_FLAGS, FLAG_NEEDED);
	dump_proto_message(&output->packet, PACKET_TRACK_EVENT, &output->message);
	put_packet(output);
}

/* Adds the name's number to the event, and the name to the packet if the sequence does not have the name yet. */
static void put_name(struct dump_timeline_output *output, uint32_t name)
{
	const size_t before = output->interned_capacity;

	if (!COMMON_VECTOR_GROW(output->interned, output->interned_capacity, (size_t)name + 1)) {
		output->bytes.failed = true;
		return;
	}
	if (output->interned_capacity > before)
		memset(output->interned + before, 0, (output->interned_capacity - before) * sizeof(*output->interned));
	if (output->interned[name] != output->sequence) {
		output->interned[name] = output->sequence;
		dump_proto_u64(&output->inner, INTERNED_IID, (uint64_t)name + 1);
		dump_proto_string(&output->inner, INTERNED_NAME, output->names[name]);
		dump_proto_message(&output->message, INTERNED_EVENT_NAMES, &output->inner);
		dump_proto_message(&output->packet, PACKET_INTERNED_DATA, &output->message);
	}
	dump_proto_u64(&output->message, EVENT_NAME_IID, (uint64_t)name + 1);
}

static void perfetto_begin(struct dump_timeline_output *output, uint32_t track, uint64_t time, uint32_t name)
{
	put_name(output, name);
	dump_proto_u64(&output->message, EVENT_TYPE, TYPE_BEGIN);
	put_event(output, track, time);
}

static void perfetto_end(struct dump_timeline_output *output, uint32_t track, uint64_t time)
{
	dump_proto_u64(&output->message, EVENT_TYPE, TYPE_END);
	put_event(output, track, time);
}

static void instant(struct dump_timeline_output *output, uint32_t track, uint64_t time, uint32_t name, uint64_t flow)
{
	put_name(output, name);
	dump_proto_u64(&output->message, EVENT_TYPE, TYPE_INSTANT);
	if (flow)
		dump_proto_fixed64(&output->message, EVENT_FLOW_IDS, flow);
	put_event(output, track, time);
}

static void perfetto_count(struct dump_timeline_output *output, uint32_t track, uint64_t time, uint64_t value,
			   uint32_t name)
{
	(void)name;
	dump_proto_u64(&output->message, EVENT_TYPE, TYPE_COUNTER);
	dump_proto_u64(&output->message, EVENT_COUNTER_VALUE, value);
	put_event(output, track, time);
}

static void perfetto_start(struct dump_timeline_output *output)
{
	(void)output;
}

/*
 * Writes the text of left_out as an event at the begin, on a row of its own. An empty trace gets such an event too:
 * viewers refuse files without packets.
 */
static void perfetto_finish(struct dump_timeline_output *output, const char *left_out)
{
	const char *const text = left_out ? left_out : output->track_count ? NULL : "nothing ran";
	uint32_t track, name;

	if (!text || dump_timeline_track(output, 0, 0, &track) < 0 || dump_timeline_name(output, text, &name) < 0)
		return;
	row(output, track, DUMP_TIMELINE_NONE, left_out ? "left out" : "empty");
	sequence(output, track, 0);
	instant(output, track, 0, name, 0);
}

const struct dump_timeline_format dump_timeline_perfetto = {
	.binary = true,
	.start = perfetto_start,
	.process = process,
	.thread = thread,
	.row = row,
	.counter = counter,
	.sequence = sequence,
	.begin = perfetto_begin,
	.end = perfetto_end,
	.instant = instant,
	.count = perfetto_count,
	.finish = perfetto_finish,
};
