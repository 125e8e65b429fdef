/* SPDX-License-Identifier: BSD-2-Clause */
/* The progress line and the summary. */
#include "record/session/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/text/count_text.h"

#define WHAT_TEXT 96
#define LOST_TEXT 512

const char *record_size_text(uint64_t bytes, char text[RECORD_SIZE_TEXT])
{
	static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 999.5 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1000;
		unit++;
	}
	snprintf(text, RECORD_SIZE_TEXT, unit && value < 99.95 ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return text;
}

/*
 * Checks whether the session records events, now or later: events of a named session can be turned on while recording
 * runs.
 */
static bool counts_events(const struct record_capture *capture)
{
	const struct record_settings *settings = capture->settings;

	return settings->rule_count || settings->tracepoints.count || settings->flags || settings->values.count ||
	       (settings->session_name && capture->events);
}

/* Returns text with the recorded amount: "3.2 MB of PT", "5,120 events", or both. */
static const char *what_text(const struct record_capture *capture, char *text, size_t size)
{
	const bool packets = strcmp(capture->machine.source, "none") != 0;
	char raw[RECORD_SIZE_TEXT], count[COMMON_COUNT_TEXT];

	text[0] = 0;
	if (packets)
		snprintf(text, size, "%s of PT", record_size_text(capture->pt_bytes, raw));
	if (counts_events(capture))
		snprintf(text + strlen(text), size - strlen(text), "%s%s event%s", packets ? ", " : "",
			 common_count_text(capture->events, count), capture->events == 1 ? "" : "s");
	return text;
}

/* ---- losses ---------------------------------------------------------------------------------- */

/* indexed by enum ptl_loss_kind */
static const struct {
	const char *one, *several;
} lost_nouns[] = {
	[PTL_LOSS_BUFFERS] = {"buffer", "buffers"},
	[PTL_LOSS_BYTES] = {"byte of packets", "bytes of packets"},
	[PTL_LOSS_EVENTS] = {"event", "events"},
	[PTL_LOSS_THREAD] = {"thread", "threads"},
	[PTL_LOSS_PROCESS] = {"process", "processes"},
	[PTL_LOSS_CODE] = {"piece of code", "pieces of code"},
	[PTL_LOSS_SYMBOLS] = {"symbol table", "symbol tables"},
	[PTL_LOSS_END] = {"end of a process", "ends of processes"},
};

/* Appends "7,623,168 events lost in 1 place" to an empty text, or ", 2 threads in 2 places" to earlier losses. */
static void add_lost(char *text, size_t size, unsigned kind, const struct record_lost *lost)
{
	const size_t used = strlen(text);
	char count[COMMON_COUNT_TEXT], places[COMMON_COUNT_TEXT];

	snprintf(text + used, size - used, "%s%s%s%s%s in %s place%s", used ? ", " : "",
		 lost->count ? common_count_text(lost->count, count) : "", lost->count ? " " : "",
		 lost->count == 1 ? lost_nouns[kind].one : lost_nouns[kind].several, used ? "" : " lost",
		 common_count_text(lost->places, places), lost->places == 1 ? "" : "s");
}

/* Returns text with all losses: "7,623,168 events lost in 1 place, 2 threads in 2 places"; "" without losses. */
static const char *lost_text(const struct record_capture *capture, char *text, size_t size)
{
	text[0] = 0;
	for (unsigned kind = 1; kind < sizeof(lost_nouns) / sizeof(lost_nouns[0]); kind++)
		if (capture->losses.lost[kind].places)
			add_lost(text, size, kind, &capture->losses.lost[kind]);
	return text;
}

/* ---- lines ----------------------------------------------------------------------------------- */

void record_progress_show(const struct record_capture *capture, uint64_t elapsed)
{
	char what[WHAT_TEXT], stored[RECORD_SIZE_TEXT], lost[LOST_TEXT];
	struct record_model_counts counts;
	struct ptl_writer_counts written;

	record_model_counts(capture->model, &counts);
	record_capture_counts(capture, &written);
	lost_text(capture, lost, sizeof(lost));
	if (!lost[0])
		snprintf(lost, sizeof(lost), written.lost_buffers ? "%llu buffers LOST" : "no losses",
			 (unsigned long long)written.lost_buffers);
	what_text(capture, what, sizeof(what));
	common_progress("%.1f s  %s%s%s stored  %llu process%s  %s", (double)elapsed / 1e9, what, what[0] ? ", " : "",
			record_size_text(written.stored_bytes, stored), (unsigned long long)counts.processes,
			counts.processes == 1 ? "" : "es", lost);
}

static void warn_of_losses(const struct record_capture *capture)
{
	char lost[LOST_TEXT];

	common_message_warning("%s%s%s", lost_text(capture, lost, sizeof(lost)),
			       capture->losses.records == 1 ? ": " : "; the first: ", capture->losses.first);
	if (capture->losses.hint)
		common_message_hint("%s", capture->losses.hint);
}

static int note_file(void *context, const char *path)
{
	char *copy = strdup(path);

	return copy ? common_string_list_add(context, copy) : common_fail_memory("names of files", strlen(path));
}

int record_progress_series(const struct record_series *series, struct record_progress_end *end)
{
	const struct record_series_range range = record_series_range(series);
	const int status = record_series_files(series, note_file, end->others);

	/* The last path is the file that the summary names itself. */
	if (status == 0 && end->others->count)
		free((char *)(uintptr_t)end->others->list[--end->others->count]);
	if (range.first > 1)
		end->removed_events = record_series_events_before(series, range.first);
	return status;
}

/* Returns text with "the last of 8 files with 311 kB", or with the size of the only file. */
static const char *files_text(const struct record_capture *capture, const struct record_progress_end *end, char *text,
			      size_t size)
{
	uint64_t stored = capture->output.end.stored_bytes;
	char bytes[RECORD_SIZE_TEXT];
	struct stat info;

	for (size_t i = 0; end->others && i < end->others->count; i++)
		if (stat(end->others->list[i], &info) == 0)
			stored += (uint64_t)info.st_size;
	if (end->others && end->others->count)
		snprintf(text, size, "the last of %zu files with %s", end->others->count + 1,
			 record_size_text(stored, bytes));
	else
		snprintf(text, size, "%s", record_size_text(stored, bytes));
	return text;
}

/* Returns text with ", 51,000 of them in files that were removed". */
static const char *removed_text(const struct record_progress_end *end, char *text, size_t size)
{
	char count[COMMON_COUNT_TEXT];

	text[0] = 0;
	if (end->removed_events)
		snprintf(text, size, ", %s of them in files that were removed",
			 common_count_text(end->removed_events, count));
	return text;
}

static void warn_of_lost_buffers(uint64_t buffers, uint64_t events)
{
	char count[COMMON_COUNT_TEXT], text[COMMON_COUNT_TEXT + 32] = "";

	if (events)
		snprintf(text, sizeof(text), ", with %s event%s", common_count_text(events, count),
			 events == 1 ? "" : "s");
	common_message_warning("%llu buffer%s could not be written and %s lost%s", (unsigned long long)buffers,
			       buffers == 1 ? "" : "s", buffers == 1 ? "is" : "are", text);
}

void record_progress_summary(const struct record_capture *capture, const struct record_progress_end *end)
{
	const struct record_model_counts *counts = &end->counts;
	const uint64_t lost_buffers = capture->rotation.past.lost_buffers + capture->output.end.lost_buffers;
	const bool losses = capture->losses.records || lost_buffers || record_capture_write_failed(capture);
	char what[WHAT_TEXT], files[WHAT_TEXT], removed[WHAT_TEXT];

	common_progress_end();
	what_text(capture, what, sizeof(what));
	common_message_note("%s: %s%s%s%s; %llu process%s, %llu thread%s%s", end->path,
			    files_text(capture, end, files, sizeof(files)), what[0] ? ", " : "", what,
			    counts_events(capture) ? removed_text(end, removed, sizeof(removed)) : "",
			    (unsigned long long)counts->processes, counts->processes == 1 ? "" : "es",
			    (unsigned long long)counts->threads, counts->threads == 1 ? "" : "s",
			    end->failed ? "; incomplete"
			    : losses    ? ""
					: "; no losses");
	if (capture->losses.records)
		warn_of_losses(capture);
	if (lost_buffers)
		warn_of_lost_buffers(lost_buffers, capture->output.end.lost_events);
}
