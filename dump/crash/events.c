/* SPDX-License-Identifier: BSD-2-Clause */
/* The last events of threads. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/text.h"
#include "dump/crash/crash.h"
#include "dump/print/event.h"

/* The last events of a thread: a ring of texts. */
struct event_ring {
	struct dump_crash_thread *thread;
	uint32_t pid;
	struct ptl_bytes *texts;
	size_t count; /* events so far */
};

struct event_search {
	struct dump_crash_report *report;
	struct analysis_names names;
	struct analysis_values values;
	struct dump_event_printer printer;
	struct event_ring *rings;
	size_t count;
};

static struct event_ring *ring_of(const struct event_search *search, const struct ptl_event *event)
{
	for (size_t i = 0; i < search->count; i++)
		if (search->rings[i].pid == event->pid && search->rings[i].thread->tid == event->tid)
			return &search->rings[i];
	return NULL;
}

/* Events of the kernel's classes say how processes, threads and code begin and end. The report shows the end itself. */
static bool is_life(const struct ptl_event *event)
{
	const struct ptl_guid *const classes[] = {&PTL_PROVIDER_PROCESS, &PTL_PROVIDER_THREAD, &PTL_PROVIDER_IMAGE,
						  &PTL_PROVIDER_CODE, &PTL_PROVIDER_SIGNAL};

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (!memcmp(&event->descriptor.provider, classes[i], sizeof(*classes[i])))
			return event->descriptor.opcode != PTL_OPCODE_CONTEXT_SWITCH;
	return false;
}

static int search_take(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct event_search *search = context;
	struct event_ring *ring = ring_of(search, event);
	struct ptl_bytes *text;

	if (!ring || is_life(event))
		return 0;
	text = &ring->texts[ring->count++ % search->report->limits.events];
	text->size = 0;
	common_text_time(text, event->time, search->values.start_time);
	common_text_add(text, "  ");
	if (dump_event_brief(&search->printer, event, ptl_schema_of(trace, event), text) < 0 || text->failed)
		return common_fail_memory("events", ring->count);
	if (text->size && text->data[text->size - 1] == '\n')
		text->size--;
	return 0;
}

static int rings_make(struct event_search *search)
{
	const struct dump_crash_report *report = search->report;
	size_t count = 0;

	for (size_t i = 0; i < report->count; i++)
		count += report->list[i].thread_count;
	search->rings = calloc(count + 1, sizeof(*search->rings));
	if (!search->rings)
		return common_fail_memory("threads", count);
	for (size_t i = 0; i < report->count; i++)
		for (size_t k = 0; k < report->list[i].thread_count; k++) {
			struct event_ring *ring = &search->rings[search->count];

			ring->thread = &report->list[i].threads[k];
			ring->pid = report->list[i].failure.pid;
			ring->texts = calloc(report->limits.events, sizeof(*ring->texts));
			if (!ring->texts)
				return common_fail_memory("events", report->limits.events);
			search->count++;
		}
	return 0;
}

/* Copies the texts of a ring, the oldest first. */
static int ring_keep(struct dump_crash_report *report, const struct event_ring *ring)
{
	const size_t most = report->limits.events, count = ring->count < most ? ring->count : most;

	ring->thread->events = common_arena_zeroed(&report->arena, (count + 1) * sizeof(*ring->thread->events));
	for (size_t i = 0; ring->thread->events && i < count; i++) {
		const struct ptl_bytes *text = &ring->texts[(ring->count - count + i) % most];
		const char *copy = common_arena_copy(&report->arena, text->data, text->size);

		if (!copy)
			return common_fail_memory("events", count);
		ring->thread->events[ring->thread->event_count++] = copy;
	}
	return ring->thread->events ? 0 : common_fail_memory("events", count);
}

static void rings_free(struct event_search *search)
{
	for (size_t i = 0; i < search->count; i++) {
		for (size_t k = 0; k < search->report->limits.events; k++)
			common_bytes_free(&search->rings[i].texts[k]);
		free(search->rings[i].texts);
	}
	free(search->rings);
}

int dump_crash_events_read(struct dump_crash_report *report)
{
	struct dump_run *run = report->run;
	struct event_search search = {.report = report};
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = search_take};
	int status = analysis_names_load(&search.names, run->trace);

	search.values = (struct analysis_values){.start_time = ptl_trace_machine(run->trace)->start_time,
						 .names = &search.names};
	search.printer = (struct dump_event_printer){
		.run = run, .timeline = report->timeline, .values = &search.values};
	if (status == 0)
		status = rings_make(&search);
	if (status == 0 && search.count)
		status = ptl_process(run->trace, NULL, &callbacks, &search);
	if (status == 0)
		status = dump_event_printer_status(&search.printer);
	for (size_t i = 0; status == 0 && i < search.count; i++)
		status = ring_keep(report, &search.rings[i]);
	rings_free(&search);
	dump_event_printer_free(&search.printer);
	analysis_names_free(&search.names);
	return status;
}
