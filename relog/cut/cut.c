/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cut has four times: the requested window [from, to], and around the window [start, stop], the time of all Intel
 * PT segments that overlap the window.
 * - Before start, events are folded into a state, which is written as rundown.
 * - Between start and stop, events about processes, threads, images and code are kept.
 * - In the window, all events are kept.
 * - Just behind the window, the rundown of the window's end is written.
 */
#include "relog/cut/cut.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/program/message.h"
#include "elf/jit_attach.h"
#include "format/metadata/metadata.h"
#include "format/reader/parts.h"
#include "format/relogger/ahead.h"
#include "relog/cut/cut_state.h"
#include "relog/cut/cut_streams.h"
#include "relog/settings/kernel_schemas.h"

/* ---- before the first event ------------------------------------------------------------------ */

static int choose_times(struct relog_cut *cut)
{
	const struct relog_cut_settings *settings = cut->settings;
	int status = relog_cut_times(settings, cut->relogger, &cut->from, &cut->to);

	cut->by_time = common_time_span_given(&settings->span);
	cut->start = cut->from;
	cut->stop = cut->to;
	for (size_t i = 0; !status && cut->by_time && !settings->drop_pt && i < ptl_relogger_input_count(cut->relogger);
	     i++)
		status = relog_cut_look_at_streams(cut, ptl_relogger_input_at(cut->relogger, i));
	cut->reported = !cut->start;
	cut->ended = cut->to == UINT64_MAX;
	return status;
}

static int take_inherited(void *context, struct ptl_state *state, uint32_t pid, uint64_t start);

static int cut_begin(void *context, struct ptl_relogger *relogger)
{
	struct relog_cut *cut = context;
	int status;

	cut->relogger = relogger;
	cut->live = format_relogger_is_live(relogger);
	if (!cut->settings->drop_pt)
		relog_cut_look_for_pt_of_cpus(cut);
	status = relog_select(&cut->selection, cut->settings, relogger);
	if (!status)
		status = choose_times(cut);
	if (!status)
		status = relog_kept_blobs_begin(&cut->blobs, relogger);
	if (!status)
		status = relog_kept_blobs_begin(&cut->fileless, relogger);
	if (!status)
		status = relog_kernel_schemas_write(relogger);
	if (!status)
		status = ptl_state_new(&cut->state);
	if (!status)
		ptl_state_on_inherit(cut->state, take_inherited, cut);
	return status;
}

/* ---- rundown --------------------------------------------------------------------------------- */

static int note_blobs(struct relog_cut *cut, const struct relog_subject *subject)
{
	const struct ptl_image_event *image = &subject->event.image;
	int status = relog_kept_blobs_note_event(&cut->blobs, subject);

	if (!status && subject->understood && subject->event.class == FORMAT_CLASS_IMAGE && image->has_code &&
	    !strcmp(image->file_name, "[vdso]"))
		status = relog_kept_blobs_note(&cut->fileless, image->code);
	return status;
}

static bool keeps_process(const struct relog_cut *cut, uint32_t pid)
{
	return cut->everyone || relog_wants_process(&cut->selection, pid);
}

static bool keeps_thread(const struct relog_cut *cut, uint32_t tid)
{
	return cut->everyone || common_id_set_has(&cut->settings->tids, tid);
}

static int take_reported(void *context, const struct ptl_event *event)
{
	struct relog_cut *cut = context;
	struct relog_subject subject;

	relog_subject_of(event, &cut->reported_storage, &subject);
	if (!keeps_process(cut, event->pid) ||
	    (subject.event.class == FORMAT_CLASS_THREAD && !keeps_thread(cut, subject.event.tid)))
		return 0;
	note_blobs(cut, &subject);
	return ptl_relogger_inject_record(cut->relogger, event);
}

static struct ptl_rundown rundown_of(struct relog_cut *cut, uint32_t pid, uint64_t time, uint8_t opcode)
{
	return (struct ptl_rundown){.size = sizeof(struct ptl_rundown),
				    .pid = pid,
				    .time = time,
				    .opcode = opcode,
				    .take = take_reported,
				    .context = cut};
}

/*
 * Writes the start rundown just before the first kept event: live processes, threads, mappings, and the last switch of
 * each CPU.
 */
static int write_start_rundown(struct relog_cut *cut)
{
	const struct ptl_rundown rundown = rundown_of(cut, PTL_NO_ID, cut->start - 1, PTL_OPCODE_START_RUNDOWN);
	const int status = ptl_state_rundown(cut->state, &rundown);

	cut->reported = true;
	return status ? status : relog_switches_report(&cut->switches, cut->relogger, cut->start - 1);
}

/*
 * Writes the end rundown: processes and mappings that outlived the window. Called at the first event behind the window.
 */
static int report_end(struct relog_cut *cut)
{
	const struct ptl_rundown rundown = rundown_of(cut, PTL_NO_ID, cut->to + 1, PTL_OPCODE_END_RUNDOWN);

	cut->ended = true;
	return ptl_state_rundown(cut->state, &rundown);
}

/* Reports the inherited mappings of a kept process that was forked by a dropped process. */
static int take_inherited(void *context, struct ptl_state *state, uint32_t pid, uint64_t start)
{
	struct relog_cut *cut = context;
	const struct ptl_rundown rundown = rundown_of(cut, pid, start, PTL_OPCODE_LOAD);
	struct ptl_state_process process;

	if (!cut->reported || start < cut->start || !keeps_process(cut, pid) ||
	    !ptl_state_find_process(state, pid, &process) || keeps_process(cut, process.parent_id))
		return 0;
	return ptl_state_rundown(state, &rundown);
}

/* A kept child of a dropped process: adds the program of the parent to the child's start event. */
static int name_program(struct relog_cut *cut, struct ptl_trace_event *event, const struct relog_subject *subject)
{
	struct ptl_process_event data = subject->event.process;
	struct ptl_state_process process;
	struct ptl_bytes storage = {0};
	struct ptl_event encoded = {0};
	int status;

	if (*data.image_file_name || !ptl_state_find_process(cut->state, subject->event.pid, &process) ||
	    !*process.program || keeps_process(cut, process.parent_id))
		return 0;
	data.image_file_name = process.program;
	data.command_line = process.command_line;
	status = ptl_process_encode(&data, PTL_OPCODE_START, &storage, &encoded);
	if (!status)
		status = ptl_event_set_payload(event, encoded.payload, encoded.payload_size);
	common_bytes_free(&storage);
	return status;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Whether a kernel event is about a kept process. An event that the cut cannot decode may be about a kept process. */
static bool is_about(const struct relog_cut *cut, const struct ptl_event *event, const struct relog_subject *subject)
{
	if (subject->event.class == FORMAT_CLASS_NONE)
		return false;
	if (cut->of_cpus && subject->event.class == FORMAT_CLASS_SWITCH)
		return true;
	if (!subject->understood)
		return event->pid == PTL_NO_ID || keeps_process(cut, event->pid);
	return keeps_process(cut, subject->event.pid) &&
	       (subject->event.class != FORMAT_CLASS_THREAD || keeps_thread(cut, subject->event.tid));
}

/* A dropped process whose start event was kept gets its end event, too. *too: keep this event. */
static int is_of_others(struct relog_cut *cut, const struct relog_subject *subject, bool kept, bool *too)
{
	*too = false;
	if (subject->event.class != FORMAT_CLASS_PROCESS || !subject->understood || !cut->selection.by_process ||
	    keeps_process(cut, subject->event.pid))
		return 0;
	if (kept && subject->event.action == FORMAT_ACTION_BEGIN)
		return common_hash_map_put(&cut->others, subject->event.pid, 1);
	*too = subject->event.action == FORMAT_ACTION_END && common_hash_map_remove(&cut->others, subject->event.pid);
	return 0;
}

/* Behind the window, keeps only events that change code, until the last segment ends. */
static bool is_in_time(const struct relog_cut *cut, const struct ptl_event *event, const struct relog_subject *subject)
{
	const uint64_t *of_cpus, *own;

	if (event->time <= cut->to || !subject->understood)
		return event->time <= cut->stop;
	if (event->time > cut->stop || subject->event.action == FORMAT_ACTION_END_RUNDOWN ||
	    subject->event.class == FORMAT_CLASS_THREAD || subject->event.class == FORMAT_CLASS_SIGNAL ||
	    (subject->event.class == FORMAT_CLASS_PROCESS && subject->event.action != FORMAT_ACTION_EXEC))
		return false;
	own = common_hash_map_get(&cut->stops, subject->event.pid);
	of_cpus = common_hash_map_get(&cut->stops, PTL_NO_ID);
	return (own && event->time <= *own) || (of_cpus && event->time <= *of_cpus);
}

static int is_kept(struct relog_cut *cut, const struct ptl_event *event, const struct relog_subject *subject,
		   bool *kept)
{
	const bool in_window = !cut->by_time || (event->time >= cut->from && event->time <= cut->to);
	bool too;
	int status;

	cut->any |= in_window;
	if (is_about(cut, event, subject) && is_in_time(cut, event, subject)) {
		*kept = true;
		return 0;
	}
	*kept = in_window && relog_wants_thread(&cut->selection, event->pid, event->tid);
	status = is_of_others(cut, subject, *kept, &too);
	*kept |= in_window && too;
	return status;
}

/* Reports processes whose start was not kept. */
static int report_late(struct relog_cut *cut, uint64_t time)
{
	const struct ptl_rundown rundown = rundown_of(cut, PTL_NO_ID, time, PTL_OPCODE_START_RUNDOWN);

	return relog_late_report(&cut->late, &cut->selection, cut->relogger, cut->state, &rundown);
}

static int cut_take_event(void *context, struct ptl_relogger *relogger, struct ptl_trace_event *event)
{
	struct relog_cut *cut = context;
	const struct ptl_event *record = ptl_event_record(event);
	struct relog_subject subject;
	bool kept;
	int status = 0;

	if (!cut->reported && record->time >= cut->start)
		status = write_start_rundown(cut);
	if (!status && !cut->ended && record->time > cut->to)
		status = report_end(cut);
	if (!status && cut->selection.fresh_count)
		status = report_late(cut, record->time);
	if (status)
		return status;
	relog_subject_of(record, &cut->storage, &subject);
	if (subject.event.class != FORMAT_CLASS_NONE && (!cut->reported || !cut->ended || cut->selection.by_process))
		status = ptl_state_event(cut->state, record);
	if (!status && !cut->reported && cut->of_cpus)
		status = relog_switches_note(&cut->switches, record);
	if (status || !cut->reported) {
		cut->dropped_events++;
		return status;
	}
	status = is_kept(cut, record, &subject, &kept);
	if (status || !kept) {
		cut->dropped_events++;
		return status;
	}
	/* An earlier stage injected this event for a time before the rundown: the event joins the rundown. */
	if (record->time < cut->start)
		ptl_event_set_time(event, cut->start - 1);
	status = note_blobs(cut, &subject);
	if (!status && subject.event.class == FORMAT_CLASS_PROCESS && subject.understood &&
	    subject.event.action == FORMAT_ACTION_BEGIN)
		status = name_program(cut, event, &subject);
	return status ? status : ptl_relogger_inject(relogger, event);
}

/* ---- records, blobs ------------------------------------------------------------------------- */

/* Drops attachments of dropped processes. */
static int take_attachment(struct relog_cut *cut, const struct ptl_relogger_input *input,
			   const struct ptl_record *record, bool *keep)
{
	struct ptl_attachment *attachment;
	int status = format_attachment_of(record, &attachment);
	uint32_t pid;

	if (status || !attachment)
		return status;
	pid = attachment->pid;
	status = ptl_relogger_map_id(input, &pid);
	*keep = pid == PTL_NO_ID || attachment->kind == PTL_ATTACHMENT_PT_FILTER || keeps_process(cut, pid);
	/* A jitdump contains code besides names. */
	if (cut->settings->drop_code && elf_is_jitdump_name(attachment->name, strlen(attachment->name)))
		*keep = false;
	if (!status && *keep && attachment->kind != PTL_ATTACHMENT_PT_FILTER)
		status = relog_kept_blobs_note(&cut->blobs, attachment->hash);
	format_attachment_free(attachment);
	return status;
}

static int cut_take_record(void *context, struct ptl_relogger *relogger, struct ptl_relogger_input *input,
			   const struct ptl_record *record, bool *keep)
{
	struct relog_cut *cut = context;
	struct ptl_relogger_input_info info;
	struct ptl_loss *loss;
	uint64_t first, last;
	uint32_t pid;
	int status;

	(void)relogger;
	if (record->type == FORMAT_RECORD_ATTACHMENT)
		return take_attachment(cut, input, record, keep);
	if (record->type != FORMAT_RECORD_LOSS)
		return 0;
	status = format_loss_decode(common_cursor(record->data, record->size), &loss);
	if (status)
		return status == PTL_NO_MEMORY ? status : 0;
	ptl_relogger_input_info(input, &info);
	first = loss->first_time ? loss->first_time + (uint64_t)info.time_shift : 0;
	last = loss->last_time ? loss->last_time + (uint64_t)info.time_shift : UINT64_MAX;
	pid = loss->pid;
	format_loss_free(loss);
	status = ptl_relogger_map_id(input, &pid);
	/* Drops losses outside the kept time and processes. */
	*keep = first <= cut->stop && last >= cut->start &&
		(pid == PTL_NO_ID || relog_wants_process(&cut->selection, pid));
	return status;
}

static int take_blob(void *context, struct ptl_relogger *relogger, struct ptl_relogger_input *input,
		     const struct ptl_blob_info *blob, bool *keep)
{
	struct relog_cut *cut = context;

	(void)relogger;
	if (blob->type == PTL_BLOB_CODE || blob->type == PTL_BLOB_SYMBOLS || blob->type == PTL_BLOB_DEBUG ||
	    format_is_attached(ptl_relogger_input_trace(input), blob->hash))
		*keep = relog_kept_blobs_has(&cut->blobs, input, blob->hash);
	/* An ELF file with debug information may contain code, too. */
	if (cut->settings->drop_code && blob->type == PTL_BLOB_CODE)
		*keep = relog_kept_blobs_has(&cut->fileless, input, blob->hash);
	return 0;
}

/*
 * Warns of a window behind the recording. Intel PT without events lasts until the recording's end. Returns whether the
 * window is there.
 */
static bool warn_of_nothing(const struct relog_cut *cut)
{
	const struct ptl_relogger_input *first = ptl_relogger_input_at(cut->relogger, 0);
	const struct ptl_machine *machine = ptl_trace_machine(ptl_relogger_input_trace(first));

	if (cut->any || cut->from <= machine->end_time || machine->end_time <= machine->start_time)
		return false;
	common_message_warning("nothing of the trace lies in the span of --time");
	common_message_hint("a span within 0s..%.9fs: times count from the start of the whole trace",
			    (double)(machine->end_time - machine->start_time) / 1e9);
	return true;
}

/* Tells that all Intel PT lies outside the window: the output looks as if nothing had run. */
static void note_no_pt(const struct relog_cut *cut)
{
	const struct ptl_relogger_input *first = ptl_relogger_input_at(cut->relogger, 0);
	const uint64_t start = ptl_trace_machine(ptl_relogger_input_trace(first))->start_time;

	if (cut->pt_outside && !cut->pt_inside && cut->pt_first >= start)
		common_message_note("nothing ran in the span of --time: the output has no Intel PT, which is within "
				    "%.9fs..%.9fs",
				    (double)(cut->pt_first - start) / 1e9, (double)(cut->pt_last - start) / 1e9);
}

static int cut_end(void *context, struct ptl_relogger *relogger)
{
	struct relog_cut *cut = context;
	struct ptl_cut kept = {
		.size = sizeof(kept),
		.first = cut->by_time ? cut->from : 0,
		.last = cut->by_time ? cut->to : UINT64_MAX,
		.known = cut->by_time ? cut->start : 0,
		.events = cut->dropped_events,
		.bytes = cut->dropped_bytes,
	};
	int status = cut->reported ? 0 : write_start_rundown(cut);

	if (!status)
		status = relog_cut_count_dropped(cut);
	kept.bytes = cut->dropped_bytes;
	/* Flushes processes that forked with the last event. */
	if (!status && cut->selection.by_process) {
		const struct ptl_event late = {.time = UINT64_MAX};

		status = ptl_state_event(cut->state, &late);
	}
	if (!status)
		status = relog_select_end(&cut->selection);
	relog_late_warn(&cut->late);
	if (cut->by_time && !warn_of_nothing(cut))
		note_no_pt(cut);
	if (cut->truth_dropped)
		common_message_note(
			"streams of kind TRUTH, of what was really executed, cannot be cut by time: left out");
	return status ? status : ptl_relogger_cut(relogger, &kept);
}

/* ---- the stage ------------------------------------------------------------------------------- */

static void free_cut(void *state)
{
	struct relog_cut *cut = state;

	relog_selection_free(&cut->selection);
	ptl_state_free(cut->state);
	relog_switches_free(&cut->switches);
	common_hash_map_free(&cut->stops);
	common_hash_map_free(&cut->others);
	relog_kept_blobs_free(&cut->blobs);
	relog_kept_blobs_free(&cut->fileless);
	common_bytes_free(&cut->storage);
	common_bytes_free(&cut->reported_storage);
	free(cut);
}

static int cut_add(const struct relog_settings *settings, struct ptl_relogger *relogger, void **state)
{
	static const struct ptl_relogger_callbacks callbacks = {
		.size = sizeof(callbacks),
		.begin = cut_begin,
		.event = cut_take_event,
		.record = cut_take_record,
		.stream = relog_cut_take_stream,
		.end = cut_end,
		.blob = take_blob,
	};
	struct relog_cut *cut;

	if (!relog_cut_wanted(&settings->cut))
		return 0;
	cut = calloc(1, sizeof(*cut));
	if (!cut)
		return common_fail_memory("a cut", sizeof(*cut));
	cut->settings = &settings->cut;
	*state = cut;
	return ptl_relogger_callbacks(relogger, &callbacks, cut);
}

const struct relog_stage relog_stage_cut = {"cut", cut_add, free_cut};
