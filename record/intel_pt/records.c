/* SPDX-License-Identifier: BSD-2-Clause */
/* Handles kernel records beside the packets: context switches, and losses. */
#include <stdio.h>
#include <string.h>

#include <ptl/kernel.h>

#include "perf/fields.h"
#include "perf/schemas.h"
#include "record/capture/capture.h"
#include "record/intel_pt/intel_pt_state.h"

/* PERF_SAMPLE_TID | TIME | CPU | IDENTIFIER. */
struct trailer {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
	uint64_t id;
};

bool intel_pt_record_ids(const struct perf_event_header *record, struct intel_pt_ids *ids)
{
	struct trailer trailer;

	if (record->size < sizeof(*record) + sizeof(trailer))
		return false;
	memcpy(&trailer, (const uint8_t *)record + record->size - sizeof(trailer), sizeof(trailer));
	*ids = (struct intel_pt_ids){trailer.pid, trailer.tid, trailer.time, trailer.cpu};
	return true;
}

/* Returns the size of the data between header and trailer. */
static size_t body_of(const struct perf_event_header *record, const uint8_t **body)
{
	*body = (const uint8_t *)(record + 1);
	return record->size - sizeof(*record) - sizeof(struct trailer);
}

/* Decodes the record. Returns false, with all fields 0, if the record is too short. */
static bool read_fields(const struct perf_event_header *record, struct perf_fields *fields)
{
	const uint8_t *body;
	const size_t size = body_of(record, &body);

	if (perf_fields_read(record->type, record->misc, body, size, fields))
		return true;
	*fields = (struct perf_fields){0};
	return false;
}

/* ---- context switches ------------------------------------------------------------------------ */

static void place_event(struct ptl_event *event, const struct intel_pt_ids *ids)
{
	event->time = ids->time;
	event->cpu = ids->cpu;
	event->pid = ids->pid;
	event->tid = ids->tid;
}

static uint32_t thread_of(uint32_t tid)
{
	return tid == PTL_NO_ID ? 0 : tid;
}

/*
 * Notes the running thread of the CPU. tid: 0 for no recorded thread, or for the idle thread with these ids; PTL_NO_ID
 * if unknown.
 */
static int set_running(struct intel_pt_buffer *buffer, const struct intel_pt_ids *ids, uint32_t tid)
{
	const struct ptl_switch_event data = {.new_thread = thread_of(tid), .old_thread = thread_of(buffer->running)};
	struct ptl_bytes storage = {0};
	struct ptl_event event = {0};
	int status;

	/* The buffer of a thread sees no other thread. */
	if (buffer->cpu == PTL_NO_CPU || tid == buffer->running)
		return 0;
	status = ptl_switch_encode(&data, &storage, &event);
	place_event(&event, ids);
	if (status == 0)
		status = record_capture_switch(buffer->stream.capture, buffer->events, buffer->stream.id, &event);
	common_bytes_free(&storage);
	buffer->running = tid;
	buffer->last_switch = ids->time;
	return status;
}

/*
 * Handles a switch. On a buffer for everything on a CPU, the record of the leaving thread names the next thread, before
 * the kernel's switch code. Other buffers report recorded threads only.
 */
static int take_switch(struct intel_pt_buffer *buffer, const struct perf_event_header *record,
		       const struct intel_pt_ids *ids)
{
	const bool out = record->misc & PERF_RECORD_MISC_SWITCH_OUT;
	struct intel_pt_ids next = *ids;
	struct perf_fields fields;

	if (!out)
		return set_running(buffer, ids, ids->tid);
	if (!read_fields(record, &fields))
		return set_running(buffer, ids, 0);
	next.pid = fields.pid;
	next.tid = fields.tid;
	return set_running(buffer, &next, next.tid);
}

/* Notes the running thread at the start of the event. No switch reports the first thread. */
static int take_start(struct intel_pt_buffer *buffer, const struct perf_event_header *record,
		      const struct intel_pt_ids *ids)
{
	struct perf_fields fields;

	return read_fields(record, &fields) ? set_running(buffer, ids, fields.tid) : 0;
}

/* ---- losses ---------------------------------------------------------------------------------- */

static int lose_records(struct intel_pt_buffer *buffer, uint64_t count, const char *what)
{
	char of[32], cause[160];

	snprintf(cause, sizeof(cause), "the kernel had no room for its records of %s (--buffer makes it)%s",
		 intel_pt_buffer_name(buffer, of), what);
	return intel_pt_stream_lose(&buffer->stream, PTL_LOSS_EVENTS, count, 0, cause);
}

/*
 * Lost records may include switches. Packets from the last known switch to the next belong to no thread, rather than to
 * a wrong thread.
 */
int intel_pt_records_lost(struct intel_pt_buffer *buffer, uint64_t open)
{
	const uint64_t count = record_perf_losses_take(&buffer->losses, open);
	const struct intel_pt_ids since = {PTL_NO_ID, PTL_NO_ID, buffer->stream.time, buffer->cpu};
	int status = count ? set_running(buffer, &since, PTL_NO_ID) : 0;

	return status < 0 || !count ? status
				    : lose_records(buffer, count,
						   ": packets until the next context switch are of an unknown thread");
}

static int take_lost(struct intel_pt_buffer *buffer, const struct perf_event_header *record,
		     const struct intel_pt_ids *ids)
{
	struct perf_fields fields;
	int status;

	if (!buffer->stream.time)
		buffer->stream.time = ids->time;
	(void)read_fields(record, &fields);
	buffer->losses.recorded += fields.lost;
	status = intel_pt_records_lost(buffer, 0);
	buffer->stream.time = ids->time;
	return status;
}

static int take_lost_samples(struct intel_pt_buffer *buffer, const struct perf_event_header *record,
			     const struct intel_pt_ids *ids)
{
	struct perf_fields fields;

	buffer->stream.time = ids->time;
	(void)read_fields(record, &fields);
	return lose_records(buffer, fields.lost, " (LOST_SAMPLES)");
}

static int take_throttle(struct intel_pt_buffer *buffer, const struct perf_event_header *record,
			 const struct intel_pt_ids *ids)
{
	char cause[128];

	(void)record;
	snprintf(cause, sizeof(cause), "the kernel throttled Intel PT on CPU %u", ids->cpu);
	return intel_pt_stream_lose(&buffer->stream, PTL_LOSS_BYTES, 1, 0, cause);
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Stores the record unchanged, as an event of Linux-Perf with the record's type as id. */
static int keep_perf_record(struct intel_pt_buffer *buffer, const struct perf_event_header *record,
			    const struct intel_pt_ids *ids)
{
	struct ptl_event event = {.descriptor = {.provider = perf_provider, .id = (uint16_t)record->type, .level = 4}};
	const uint8_t *body;

	event.payload_size = body_of(record, &body);
	event.payload = body;
	place_event(&event, ids);
	return record_capture_put(buffer->stream.capture, buffer->events, &event);
}

static const struct {
	int (*take)(struct intel_pt_buffer *buffer, const struct perf_event_header *record,
		    const struct intel_pt_ids *ids);
	bool keep;
} takers[] = {
	[PERF_RECORD_AUX] = {NULL, true},
	[PERF_RECORD_ITRACE_START] = {take_start, true},
	[PERF_RECORD_SWITCH] = {take_switch, false},
	[PERF_RECORD_SWITCH_CPU_WIDE] = {take_switch, false},
	[PERF_RECORD_LOST] = {take_lost, true},
	[PERF_RECORD_LOST_SAMPLES] = {take_lost_samples, true},
	[PERF_RECORD_THROTTLE] = {take_throttle, true},
	[PERF_RECORD_UNTHROTTLE] = {NULL, true},
	[PERF_RECORD_KSYMBOL] = {NULL, true},
	[PERF_RECORD_BPF_EVENT] = {NULL, true},
	[PERF_RECORD_CGROUP] = {NULL, true},
	[PERF_RECORD_NAMESPACES] = {NULL, true},
	[PERF_RECORD_TEXT_POKE] = {NULL, true},
	[PERF_RECORD_AUX_OUTPUT_HW_ID] = {NULL, true},
};

int intel_pt_record(struct intel_pt_buffer *buffer, const struct perf_event_header *record)
{
	struct intel_pt_ids ids;
	int status = 0;

	if (record->type >= sizeof(takers) / sizeof(takers[0]) || !intel_pt_record_ids(record, &ids))
		return 0;
	if (takers[record->type].take)
		status = takers[record->type].take(buffer, record, &ids);
	if (status == 0 && takers[record->type].keep)
		status = keep_perf_record(buffer, record, &ids);
	if (ids.time > buffer->stream.time)
		buffer->stream.time = ids.time;
	return status;
}
