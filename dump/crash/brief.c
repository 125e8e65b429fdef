/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the sentences, as exactly as the time permits. */
#include "dump/crash/brief.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/text.h"
#include "dump/crash/crash.h"

/* What dump_crash_brief_quick reads: less than half a second on a usual machine. */
#define QUICK_EVENTS ((uint64_t)32 << 20) /* bytes of events */
#define QUICK_PACKETS ((uint64_t)2 << 20) /* bytes of packets to decode */

static int brief_add(struct dump_crash_brief *brief, size_t at, struct ptl_bytes *text)
{
	brief->lines[at] = text->failed ? NULL : strdup(common_text_string(text));
	text->size = 0;
	return brief->lines[at] ? 0 : common_fail_memory("lines", text->size);
}

static int brief_by_events(struct dump_crash_brief *brief, const struct dump_failures *failures,
			   const struct flow_timeline *timeline)
{
	struct ptl_bytes text = {0};
	int status = 0;

	for (size_t i = 0; status == 0 && i < failures->count && i < DUMP_CRASH_BRIEF_LINES; i++) {
		dump_failure_sentence(&failures->list[i], timeline, &text);
		status = brief_add(brief, i, &text);
	}
	common_bytes_free(&text);
	return status;
}

static int brief_by_flow(struct dump_crash_brief *brief, struct dump_crash_report *report)
{
	struct ptl_bytes text = {0};
	int status = dump_crash_report_make(report);

	for (size_t i = 0; status == 0 && i < report->count && i < DUMP_CRASH_BRIEF_LINES; i++) {
		dump_crash_sentence(report, &report->list[i], &text);
		status = brief_add(brief, i, &text);
	}
	brief->located = status == 0;
	common_bytes_free(&text);
	return status;
}

static int brief_decode(struct dump_crash_brief *brief, struct dump_run *run, const struct flow_timeline *timeline)
{
	struct dump_crash_report report = {
		.run = run, .timeline = timeline, .limits = {.processes = DUMP_CRASH_BRIEF_LINES}};
	int status = flow_symbols_open(run->trace, timeline, dump_run_names(run), &report.symbols);

	if (status == 0)
		status = analysis_functions_open(timeline, report.symbols, &report.functions);
	if (status == 0)
		status = brief_by_flow(brief, &report);
	dump_crash_report_free(&report);
	analysis_functions_close(report.functions);
	flow_symbols_close(report.symbols);
	return status;
}

int dump_crash_brief_make(struct dump_crash_brief *brief, struct dump_run *run, const struct flow_timeline *timeline,
			  bool decode)
{
	struct dump_failures failures;
	int status = dump_failures_find(&failures, run, timeline);

	brief->failures = failures.count;
	if (status == 0 && decode && failures.count)
		status = brief_decode(brief, run, timeline);
	if (status == 0 && !brief->located)
		status = brief_by_events(brief, &failures, timeline);
	/* Flow that cannot be read has its own messages. */
	if (status < 0 && status != PTL_NO_MEMORY) {
		dump_crash_brief_free(brief);
		brief->failures = failures.count;
		status = brief_by_events(brief, &failures, timeline);
	}
	dump_failures_free(&failures);
	return status;
}

static uint64_t bytes_of(const struct ptl_trace *trace, uint32_t kind)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < ptl_stream_count(trace); i++)
		if (ptl_stream_at(trace, i)->kind == kind)
			bytes += ptl_stream_at(trace, i)->bytes;
	return bytes;
}

int dump_crash_brief_quick(struct dump_crash_brief *brief, const struct dump_run *run)
{
	const struct ptl_open_options options = {.size = sizeof(options),
						 .ignore_index = run->options->ignore_index,
						 .max_expansion = run->options->max_expansion};
	struct dump_run own = *run;
	struct flow_timeline *timeline = NULL;
	int status = 0;

	own.trace = NULL;
	own.progress = false;
	if (!strcmp(run->path, "-") || bytes_of(run->trace, PTL_KIND_EVENTS) > QUICK_EVENTS ||
	    ptl_open(run->path, &options, &own.trace) < 0)
		return 0;
	if (flow_timeline_build(own.trace, &timeline) == 0)
		status = dump_crash_brief_make(brief, &own, timeline,
					       bytes_of(own.trace, PTL_KIND_PT) <= QUICK_PACKETS);
	flow_timeline_free(timeline);
	ptl_close(own.trace);
	return status;
}

void dump_crash_brief_free(struct dump_crash_brief *brief)
{
	for (size_t i = 0; i < DUMP_CRASH_BRIEF_LINES; i++)
		free(brief->lines[i]);
	*brief = (struct dump_crash_brief){0};
}
