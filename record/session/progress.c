/* SPDX-License-Identifier: BSD-2-Clause */
/* The progress line and the summary. */
#include "record/session/progress.h"

#include <stdio.h>
#include <string.h>

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

/* Whether events were asked for: in a named session also later. */
static bool counts_events(const struct record_capture *capture)
{
	const struct record_settings *settings = capture->settings;

	return settings->rule_count || settings->tracepoints.count || settings->flags ||
	       (settings->session_name && capture->events);
}

/* "3.2 MB of PT", "5,120 events", or both; returns text. */
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

/* By enum ptl_loss_kind. */
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

/* Adds "7,623,168 events lost in 1 place", or ", 2 threads in 2 places" to what is there. */
static void add_lost(char *text, size_t size, unsigned kind, const struct record_lost *lost)
{
	const size_t used = strlen(text);
	char count[COMMON_COUNT_TEXT], places[COMMON_COUNT_TEXT];

	snprintf(text + used, size - used, "%s%s%s%s%s in %s place%s", used ? ", " : "",
		 lost->count ? common_count_text(lost->count, count) : "", lost->count ? " " : "",
		 lost->count == 1 ? lost_nouns[kind].one : lost_nouns[kind].several, used ? "" : " lost",
		 common_count_text(lost->places, places), lost->places == 1 ? "" : "s");
}

/* "7,623,168 events lost in 1 place, 2 threads in 2 places"; "" where there is none. */
static const char *lost_text(const struct record_capture *capture, char *text, size_t size)
{
	text[0] = 0;
	for (unsigned kind = 1; kind < sizeof(lost_nouns) / sizeof(lost_nouns[0]); kind++)
		if (capture->lost[kind].places)
			add_lost(text, size, kind, &capture->lost[kind]);
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
			       capture->loss_records == 1 ? ": " : "; the first: ", capture->first_loss);
	if (capture->loss_hint)
		common_message_hint("%s", capture->loss_hint);
}

void record_progress_summary(const struct record_capture *capture, const char *path,
			     const struct record_model_counts *counts, uint64_t lost_buffers)
{
	char what[WHAT_TEXT], stored[RECORD_SIZE_TEXT];
	const uint64_t losses = capture->loss_records + lost_buffers;

	common_progress_end();
	what_text(capture, what, sizeof(what));
	common_message_note(
		"%s: %s%s%s; %llu process%s, %llu thread%s%s", path, record_size_text(capture->output.stored, stored),
		what[0] ? ", " : "", what, (unsigned long long)counts->processes, counts->processes == 1 ? "" : "es",
		(unsigned long long)counts->threads, counts->threads == 1 ? "" : "s", losses ? "" : "; no losses");
	if (capture->loss_records)
		warn_of_losses(capture);
	if (lost_buffers)
		common_message_warning("%llu buffer%s could not be written and %s lost",
				       (unsigned long long)lost_buffers, lost_buffers == 1 ? "" : "s",
				       lost_buffers == 1 ? "is" : "are");
}
