/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares events with the current filter, and older events with the filter at the events' time. */
#include "record/capture/capture_filter.h"

#include "record/capture/capture.h"
#include "record/capture/machine.h"

static bool program_of(void *model, uint32_t pid, struct record_program_name *name)
{
	return record_model_program_of(model, pid, name);
}

struct record_asked_event record_capture_asked(struct record_capture *capture, const struct ptl_event *event)
{
	return (struct record_asked_event){
		.event = event,
		.schema = record_schemas_find(&capture->filter.schemas, &event->descriptor),
		.program = program_of,
		.context = capture->model,
		.schemas = &capture->filter.schemas,
	};
}

/* A program with providers reports the word that started the program. */
static bool known_program(void *program, uint32_t pid, struct record_program_name *name)
{
	(void)pid;
	*name = (struct record_program_name){program, program};
	return true;
}

/* Keeps the old filter too: events from before the change may still arrive. */
int record_capture_only(struct record_capture *capture, const struct common_string_list *terms)
{
	struct record_filter changed = {0};
	int status = record_filter_copy(&changed, &capture->filter.current);

	for (size_t i = 0; status == 0 && i < terms->count; i++)
		status = record_filter_set(&changed, terms->list[i]);
	if (status < 0) {
		record_filter_free(&changed);
		return status;
	}
	record_filter_free(&capture->filter.before);
	capture->filter.before = capture->filter.current;
	capture->filter.current = changed;
	capture->filter.since = record_now();
	return 0;
}

int record_capture_wants(struct record_capture *capture, const struct record_origin *origin,
			 const struct ptl_event *event, bool *wanted)
{
	struct record_filter *filter = event->time < capture->filter.since ? &capture->filter.before
									   : &capture->filter.current;
	struct record_filtered_event filtered = {.provider = origin->provider, .kernel = origin->kernel};
	int status;

	*wanted = true;
	if (!filter->asks)
		return 0;
	filtered.asked_event = record_capture_asked(capture, event);
	if (origin->program) {
		filtered.asked_event.program = known_program;
		filtered.asked_event.context = (void *)(uintptr_t)origin->program;
	}
	status = record_filter_wants(filter, &filtered, wanted);
	capture->filter.left_out += !*wanted;
	return status;
}

void record_capture_filter_free(struct record_capture_filter *filter)
{
	record_filter_free(&filter->current);
	record_filter_free(&filter->before);
	record_schemas_free(&filter->schemas);
}
