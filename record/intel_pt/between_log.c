/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the events of --only-between into the trace: where packets are resumed and paused. Finds threads that move to
 * another CPU in between: the kernel pauses and resumes the event of one thread and one CPU.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/program/message.h"
#include "common/text/guid.h"
#include "common/text/text.h"
#include "common/vector.h"
#include "format/event/pause.h"
#include "record/capture/notes.h"
#include "record/intel_pt/between.h"

/* ---- events of the trace --------------------------------------------------------------------- */

static const struct {
	uint16_t id;
	const char *name, *message;
} kinds[INTEL_PT_ACTIONS] = {
	[INTEL_PT_RESUME] = {FORMAT_PAUSE_RESUMED, "Resumed",
			     "packets are recorded from here on (--only-between): {0}"},
	[INTEL_PT_PAUSE] = {FORMAT_PAUSE_PAUSED, "Paused", "packets are paused from here on (--only-between): {0}"},
};

static const struct ptl_field fields[] = {{.name = "Event", .type = PTL_TYPE_UTF8}};

static int describe_events(struct intel_pt_between *between, struct record_capture *capture)
{
	int status = ptl_guid_from_name(FORMAT_PAUSE_PROVIDER, &between->provider);

	for (unsigned i = 0; status == 0 && i < INTEL_PT_ACTIONS; i++) {
		const struct ptl_schema schema = {
			.provider = between->provider,
			.id = kinds[i].id,
			.provider_name = FORMAT_PAUSE_PROVIDER,
			.event_name = kinds[i].name,
			.task_name = "",
			.opcode_name = "",
			.message = kinds[i].message,
			.fields = fields,
			.field_count = 1,
			.level = PTL_LEVEL_INFORMATIONAL,
		};

		status = record_capture_schema(capture, &schema);
	}
	between->described = status == 0;
	return status;
}

static int write_event(struct intel_pt_between *between, struct intel_pt_buffer *buffer, unsigned action,
		       const struct intel_pt_ids *ids)
{
	const char *text = between->texts[action];
	const int status = between->described ? 0 : describe_events(between, buffer->stream.capture);
	const struct ptl_event event = {
		.descriptor = {.provider = between->provider, .id = kinds[action].id, .level = PTL_LEVEL_INFORMATIONAL},
		.time = ids->time,
		.cpu = ids->cpu,
		.pid = ids->pid,
		.tid = ids->tid,
		.payload = (const uint8_t *)text,
		.payload_size = strlen(text) + 1,
	};

	return status < 0 ? status : record_capture_put(buffer->stream.capture, buffer->events, &event);
}

/* ---- moves ----------------------------------------------------------------------------------- */

/* Returns the thread's visit, or NULL without memory. */
static struct intel_pt_visit *visit_of(struct intel_pt_between *between, uint32_t tid)
{
	const uint64_t *index = common_hash_map_get(&between->threads, tid);

	if (index)
		return &between->visits[*index];
	if (COMMON_VECTOR_RESERVE(between->visits, between->visit_capacity, between->visit_count + 1, "threads") ||
	    common_hash_map_put(&between->threads, tid, between->visit_count) < 0)
		return NULL;
	between->visits[between->visit_count] = (struct intel_pt_visit){.tid = tid};
	return &between->visits[between->visit_count++];
}

/* Ends the stretch. Reports a move: on the other CPU, the thread's packets are still paused. */
static int end_visit(const struct intel_pt *pt, struct intel_pt_visit *visit, uint64_t time)
{
	char cause[200];
	const struct ptl_loss loss = {
		.kind = PTL_LOSS_BYTES,
		.stream = PTL_NO_ID,
		.pid = visit->pid,
		.tid = visit->tid,
		.first_time = visit->moved,
		.last_time = time > visit->moved ? time : visit->moved,
		.cause = cause,
	};
	const bool lost = visit->open && visit->moved;

	visit->open = false;
	if (!lost)
		return 0;
	snprintf(cause, sizeof(cause),
		 "a thread moved from CPU %u to CPU %u in a stretch of --only-between: packets are missing "
		 "(--per-thread or --max-cpus 1 keeps them)",
		 visit->cpu, visit->moved_to);
	return record_capture_loss(&pt->session->capture, &loss);
}

static int end_visits(const struct intel_pt *pt, uint64_t time)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < pt->between->visit_count; i++)
		status = end_visit(pt, &pt->between->visits[i], time);
	return status;
}

/* Handles the thread's next report in the order of time. */
static int take_report(const struct intel_pt *pt, const struct intel_pt_report *report)
{
	struct intel_pt_visit *visit = visit_of(pt->between, report->tid);
	int status;

	if (!visit)
		return PTL_NO_MEMORY;
	if (report->kind == INTEL_PT_RESUME && visit->open && report->cpu == visit->cpu && !visit->moved)
		return 0;
	if (report->kind == INTEL_PT_RESUME) {
		status = end_visit(pt, visit, report->time);
		*visit = (struct intel_pt_visit){true, report->time, report->pid, report->tid, report->cpu, 0, 0};
		return status;
	}
	if (visit->open && !visit->moved && report->cpu != visit->cpu) {
		/* A pause without a known switch: the move was at any time since the resume. */
		visit->moved = report->kind == INTEL_PT_PAUSE ? visit->since : report->time;
		visit->moved_to = report->cpu;
	}
	return report->kind == INTEL_PT_PAUSE ? end_visit(pt, visit, report->time) : 0;
}

static int compare_reports(const void *first, const void *second)
{
	const struct intel_pt_report *a = first, *b = second;

	return (a->time > b->time) - (a->time < b->time);
}

int intel_pt_between_step(const struct intel_pt *pt, uint64_t until)
{
	struct intel_pt_between *between = pt->between;
	size_t taken = 0;
	int status = 0;

	if (!between || !between->report_count)
		return 0;
	qsort(between->reports, between->report_count, sizeof(*between->reports), compare_reports);
	while (status == 0 && taken < between->report_count && between->reports[taken].time <= until)
		status = take_report(pt, &between->reports[taken++]);
	between->report_count -= taken;
	memmove(between->reports, between->reports + taken, between->report_count * sizeof(*between->reports));
	return status;
}

/* Notes a report about a thread. A buffer of a thread, and an event of everything on a CPU, know no moves. */
static int note_report(const struct intel_pt *pt, unsigned kind, const struct intel_pt_ids *ids)
{
	struct intel_pt_between *between = pt->between;

	if (pt->per_thread || pt->session->settings->pt.cpus || !ids->tid)
		return 0;
	if (COMMON_VECTOR_RESERVE(between->reports, between->report_capacity, between->report_count + 1, "reports"))
		return PTL_NO_MEMORY;
	between->reports[between->report_count++] = (struct intel_pt_report){ids->time, ids->pid, ids->tid, ids->cpu,
									     kind};
	return 0;
}

/* ---- records --------------------------------------------------------------------------------- */

/* Reads PERF_SAMPLE_IDENTIFIER | TID | TIME | CPU. */
static bool read_sample(const struct perf_event_header *record, uint64_t *id, struct intel_pt_ids *ids)
{
	struct common_cursor in = common_cursor((const uint8_t *)(record + 1), record->size - sizeof(*record));

	*id = common_read64(&in);
	ids->pid = common_read32(&in);
	ids->tid = common_read32(&in);
	ids->time = common_read64(&in);
	ids->cpu = common_read32(&in);
	return !in.failed;
}

static int take_sample(const struct intel_pt *pt, struct intel_pt_buffer *buffer,
		       const struct perf_event_header *record)
{
	struct intel_pt_between *between = pt->between;
	struct intel_pt_ids ids;
	const uint64_t *action;
	uint64_t id;
	int status;

	if (!read_sample(record, &id, &ids))
		return 0;
	action = common_hash_map_get(&between->ids, id);
	if (!action)
		return 0;
	if (ids.time > buffer->stream.time)
		buffer->stream.time = ids.time;
	between->counts[*action]++;
	status = write_event(between, buffer, (unsigned)*action, &ids);
	return status < 0 ? status : note_report(pt, (unsigned)*action, &ids);
}

int intel_pt_between_record(const struct intel_pt *pt, struct intel_pt_buffer *buffer,
			    const struct perf_event_header *record)
{
	struct intel_pt_ids ids;

	if (!pt->between)
		return 0;
	if (record->type == PERF_RECORD_SAMPLE)
		return take_sample(pt, buffer, record);
	if (record->type == PERF_RECORD_SWITCH && !(record->misc & PERF_RECORD_MISC_SWITCH_OUT) &&
	    intel_pt_record_ids(record, &ids))
		return note_report(pt, INTEL_PT_SWITCHED_IN, &ids);
	return 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

bool intel_pt_between_resumed(const struct intel_pt *pt)
{
	return pt->between->counts[INTEL_PT_RESUME] != 0;
}

int intel_pt_between_finish(const struct intel_pt *pt)
{
	const struct intel_pt_between *between = pt->between;
	struct ptl_bytes text = {0};
	int status;

	if (!between)
		return 0;
	status = intel_pt_between_step(pt, UINT64_MAX);
	if (status == 0)
		status = end_visits(pt, record_now());
	if (status < 0)
		return status;
	common_text_format(&text, "--only-between: %llu times %s, %llu times %s",
			   (unsigned long long)between->counts[INTEL_PT_RESUME], between->texts[INTEL_PT_RESUME],
			   (unsigned long long)between->counts[INTEL_PT_PAUSE], between->texts[INTEL_PT_PAUSE]);
	status = record_note(&pt->session->capture,
			     &(struct record_note){.time = record_now(), .text = common_text_string(&text)});
	if (!pt->session->settings->quiet)
		common_message_note("%s", common_text_string(&text));
	common_bytes_free(&text);
	return status;
}
