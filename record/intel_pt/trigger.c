/* SPDX-License-Identifier: BSD-2-Clause */
/* Snapshots at a function's entry, or at a late return. Uprobes of the kernel report both, each with its own rings. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/text/text.h"
#include "common/vector.h"
#include "record/capture/event_watch.h"
#include "record/intel_pt/filter.h"
#include "record/intel_pt/intel_pt_state.h"
#include "record/perf/sideband.h"

#define CALLS_MAX 65536u /* calls in progress; the oldest call without a return is dropped */

struct trigger {
	const char *text; /* as given by the user */
	char *path;
	uint64_t offset;
	struct record_sideband *entry, *exit; /* exit: NULL without --over */
};

/* A call in progress. */
struct call {
	const struct trigger *trigger;
	uint32_t tid;
	uint64_t time;
};

struct intel_pt_triggers {
	struct trigger *list;
	size_t count;
	struct call *calls;
	size_t call_count, call_capacity;
	uint64_t lost; /* lost reports */
	uint64_t snapshots;
};

/* ---- opening --------------------------------------------------------------------------------- */

static int add_descriptor(void *context, int fd)
{
	return record_wait_descriptor(context, fd);
}

static int open_probe(struct intel_pt *pt, const struct trigger *trigger, bool is_return,
		      struct record_sideband **sideband)
{
	const struct record_sideband_probe probe = {trigger->path, trigger->offset, is_return};
	const struct record_sideband_targets targets = {
		.threads = pt->targets,
		.count = pt->target_count && pt->targets[0] ? pt->target_count : 0,
		.probe = &probe,
	};
	int status = record_sideband_open(&targets, sideband);

	if (status < 0)
		return common_fail_in(status, "--snapshot-at \"%s\": uprobes are for root, or with CAP_PERFMON",
				      trigger->text);
	return record_sideband_descriptors(*sideband, add_descriptor, &pt->session->wait);
}

static int open_trigger(struct intel_pt *pt, struct trigger *trigger)
{
	int status = open_probe(pt, trigger, false, &trigger->entry);

	if (status == 0 && pt->session->settings->pt.over)
		status = open_probe(pt, trigger, true, &trigger->exit);
	return status;
}

/* Watches all events that go into the trace. */
static int watch_events(struct intel_pt *pt)
{
	const struct common_string_list *texts = &pt->session->settings->pt.whens;

	return texts->count ? record_event_watch_new("--snapshot-when", texts, &pt->session->capture.watch) : 0;
}

int intel_pt_triggers_find(struct intel_pt *pt)
{
	const struct common_string_list *texts = &pt->session->settings->pt.triggers;
	struct intel_pt_triggers *triggers;
	int status = watch_events(pt);

	if (status < 0 || !texts->count)
		return status;
	triggers = pt->triggers = calloc(1, sizeof(*triggers));
	if (triggers)
		triggers->list = calloc(texts->count, sizeof(*triggers->list));
	if (!triggers || !triggers->list)
		return common_fail_memory("triggers", texts->count * sizeof(struct trigger));
	for (size_t i = 0; status == 0 && i < texts->count; i++) {
		struct trigger *trigger = &triggers->list[triggers->count++];

		trigger->text = texts->list[i];
		status = intel_pt_function_find(trigger->text, &trigger->path, &trigger->offset);
		if (status < 0)
			status = common_fail_in(status, "--snapshot-at \"%s\"", trigger->text);
	}
	return status;
}

int intel_pt_triggers_open(struct intel_pt *pt)
{
	int status = 0;

	for (size_t i = 0; pt->triggers && status == 0 && i < pt->triggers->count; i++)
		status = open_trigger(pt, &pt->triggers->list[i]);
	return status;
}

int intel_pt_triggers_add(struct intel_pt *pt, const pid_t *threads, size_t count)
{
	int status = 0;

	for (size_t i = 0; pt->triggers && status == 0 && i < pt->triggers->count; i++) {
		struct trigger *trigger = &pt->triggers->list[i];

		record_sideband_drop_ended(trigger->entry);
		status = record_sideband_add(trigger->entry, threads, count);
		if (status == 0 && trigger->exit) {
			record_sideband_drop_ended(trigger->exit);
			status = record_sideband_add(trigger->exit, threads, count);
		}
	}
	return status;
}

void intel_pt_triggers_close(struct intel_pt_triggers *triggers)
{
	if (!triggers)
		return;
	for (size_t i = 0; i < triggers->count; i++) {
		record_sideband_close(triggers->list[i].entry);
		record_sideband_close(triggers->list[i].exit);
		free(triggers->list[i].path);
	}
	free(triggers->list);
	free(triggers->calls);
	free(triggers);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int begin_call(struct intel_pt_triggers *triggers, const struct trigger *trigger,
		      const struct record_sideband_record *record)
{
	if (triggers->call_count == CALLS_MAX)
		memmove(triggers->calls, triggers->calls + 1, --triggers->call_count * sizeof(*triggers->calls));
	if (COMMON_VECTOR_RESERVE(triggers->calls, triggers->call_capacity, triggers->call_count + 1, "calls"))
		return PTL_NO_MEMORY;
	triggers->calls[triggers->call_count++] = (struct call){trigger, record->tid, record->time};
	return 0;
}

/* Returns the duration of the thread's last call; 0 if unknown. */
static uint64_t end_call(struct intel_pt_triggers *triggers, const struct trigger *trigger,
			 const struct record_sideband_record *record)
{
	for (size_t i = triggers->call_count; i-- > 0;) {
		struct call *call = &triggers->calls[i];
		const uint64_t time = call->time;

		if (call->tid != record->tid || call->trigger != trigger)
			continue;
		memmove(call, call + 1, (--triggers->call_count - i) * sizeof(*call));
		return record->time > time ? record->time - time : 0;
	}
	return 0;
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static int keep_triggered(struct intel_pt *pt, const char *cause)
{
	if (intel_pt_triggers_done(pt))
		return 0;
	pt->triggered++;
	pt->session->leave |= intel_pt_triggers_done(pt);
	return intel_pt_snapshot(pt, cause);
}

static int reached(struct intel_pt *pt, const struct trigger *trigger, const struct record_sideband_record *record)
{
	char cause[512];

	snprintf(cause, sizeof(cause), "thread %u reached %.400s", record->tid, trigger->text);
	return keep_triggered(pt, cause);
}

static int returned(struct intel_pt *pt, const struct trigger *trigger, const struct record_sideband_record *record)
{
	const uint64_t over = pt->session->settings->pt.over, took = end_call(pt->triggers, trigger, record);
	struct ptl_bytes duration = {0};
	char cause[512];

	if (took <= over)
		return 0;
	common_text_duration(&duration, took);
	snprintf(cause, sizeof(cause), "%.400s took %s in thread %u", trigger->text, common_text_string(&duration),
		 record->tid);
	common_bytes_free(&duration);
	return keep_triggered(pt, cause);
}

/* Collects entries last: each entry reached its ring before the return of the call. */
static int collect_entries(struct trigger *trigger)
{
	int status = trigger->exit ? record_sideband_collect(trigger->exit) : 0;

	return status < 0 ? status : record_sideband_collect(trigger->entry);
}

/* Handles entries and returns merged by time. */
static int take_calls(struct intel_pt *pt, const struct trigger *trigger)
{
	int status = 0;

	for (;;) {
		const uint64_t entry = record_sideband_due(trigger->entry);
		const uint64_t exit = trigger->exit ? record_sideband_due(trigger->exit) : UINT64_MAX;
		const bool is_entry = entry <= exit;
		const struct record_sideband_record *record;

		record = record_sideband_next(is_entry ? trigger->entry : trigger->exit, UINT64_MAX);
		if (status < 0 || !record)
			return status;
		if (record->kind == RECORD_SIDEBAND_LOST)
			pt->triggers->lost += record->lost;
		else if (record->kind != RECORD_SIDEBAND_SAMPLE)
			continue;
		else if (!is_entry)
			status = returned(pt, trigger, record);
		else
			status = trigger->exit ? begin_call(pt->triggers, trigger, record)
					       : reached(pt, trigger, record);
	}
}

int intel_pt_triggers_step(struct intel_pt *pt)
{
	struct record_event_watch *watch = pt->session->capture.watch;
	const char *match = watch ? record_event_watch_take(watch) : NULL;
	int status = match ? keep_triggered(pt, match) : 0;

	for (size_t i = 0; pt->triggers && status == 0 && i < pt->triggers->count; i++) {
		if (!pt->triggers->list[i].entry)
			continue;
		status = collect_entries(&pt->triggers->list[i]);
		if (status == 0)
			status = take_calls(pt, &pt->triggers->list[i]);
	}
	return status;
}

bool intel_pt_triggers_done(const struct intel_pt *pt)
{
	const uint32_t most = pt->session->settings->pt.snapshots_max;

	return most && pt->triggered == most;
}

/* Handles the last lost reports. */
static int take_losses(struct intel_pt *pt)
{
	int status = 0;

	for (size_t i = 0; pt->triggers && status == 0 && i < pt->triggers->count; i++) {
		const struct trigger *trigger = &pt->triggers->list[i];

		if (!trigger->entry)
			continue;
		status = record_sideband_collect_losses(trigger->entry);
		if (status == 0 && trigger->exit)
			status = record_sideband_collect_losses(trigger->exit);
		if (status == 0)
			status = take_calls(pt, trigger);
	}
	return status;
}

int intel_pt_triggers_finish(struct intel_pt *pt)
{
	const int status = take_losses(pt);
	const struct ptl_loss loss = {
		.kind = PTL_LOSS_EVENTS,
		.stream = PTL_NO_ID,
		.pid = PTL_NO_ID,
		.tid = PTL_NO_ID,
		.count = pt->triggers ? pt->triggers->lost : 0,
		.first_time = record_now(),
		.cause = "calls of --snapshot-at came faster than they could be taken: snapshots may be missing",
	};

	return status == 0 && loss.count ? record_capture_loss(&pt->session->capture, &loss) : status;
}
