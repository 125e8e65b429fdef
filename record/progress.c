/* SPDX-License-Identifier: BSD-2-Clause */
/* The progress line and the summary. */
#include "record/progress.h"

#include <stdio.h>
#include <string.h>

#include "common/message.h"

#define WHAT_TEXT 96

const char *record_size_text(uint64_t bytes, char text[RECORD_SIZE_TEXT])
{
	static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 999.5 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1000;
		unit++;
	}
	snprintf(text, RECORD_SIZE_TEXT, unit && value < 99.95 ? "%.1f %s" : "%.0f %s", value,
		 units[unit]);
	return text;
}

/* "3.2 MB of PT", "5120 events", or both; returns text. */
static const char *what_text(const struct record_capture *capture, char *text, size_t size)
{
	const bool packets = strcmp(capture->machine.source, "none") != 0;
	char raw[RECORD_SIZE_TEXT];

	text[0] = 0;
	if (packets)
		snprintf(text, size, "%s of PT", record_size_text(capture->pt_bytes, raw));
	if (capture->settings->rule_count)
		snprintf(text + strlen(text), size - strlen(text), "%s%llu event%s",
			 packets ? ", " : "", (unsigned long long)capture->events,
			 capture->events == 1 ? "" : "s");
	return text;
}

void record_progress_show(const struct record_capture *capture, uint64_t elapsed)
{
	char what[WHAT_TEXT], stored[RECORD_SIZE_TEXT], lost[64] = "no losses";
	struct record_model_counts counts;
	struct ptl_writer_counts written;
	uint64_t losses;

	record_model_counts(capture->model, &counts);
	ptl_writer_counts(capture->output.writer, &written);
	losses = capture->loss_records + written.lost_buffers;
	if (losses)
		snprintf(lost, sizeof(lost), "%llu LOSSES", (unsigned long long)losses);
	what_text(capture, what, sizeof(what));
	ptl_progress("%.1f s  %s%s%s stored  %llu processes  %s", (double)elapsed / 1e9, what,
		     what[0] ? ", " : "", record_size_text(written.stored_bytes, stored),
		     (unsigned long long)counts.processes, lost);
}

void record_progress_summary(const struct record_capture *capture, const char *path,
			     const struct record_model_counts *counts, uint64_t lost_buffers)
{
	char what[WHAT_TEXT], stored[RECORD_SIZE_TEXT];
	const uint64_t losses = capture->loss_records + lost_buffers;

	ptl_progress_end();
	what_text(capture, what, sizeof(what));
	ptl_message_note("%s: %s%s%s; %llu process%s, %llu thread%s%s", path,
			 record_size_text(capture->output.stored, stored), what[0] ? ", " : "",
			 what, (unsigned long long)counts->processes, counts->processes == 1 ? "" : "es",
			 (unsigned long long)counts->threads, counts->threads == 1 ? "" : "s",
			 losses ? "" : "; no losses");
	if (capture->loss_records)
		ptl_message_warning(
			"%llu loss%s recorded in the trace%s%s",
			(unsigned long long)capture->loss_records,
			capture->loss_records == 1 ? "" : "es",
			capture->loss_records == 1 ? ": " : ", the first: ", capture->first_loss);
	if (lost_buffers)
		ptl_message_warning("%llu buffers could not be written and are lost",
				    (unsigned long long)lost_buffers);
}
