/* SPDX-License-Identifier: BSD-2-Clause */
/* Evaluates all expressions on each event. */
#include "record/capture/event_watch.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/error.h"

struct record_event_watch {
	struct record_event_query **list; /* an event matches if any expression is true */
	size_t count;
	bool matched;
	char match[400];
};

int record_event_watch_new(const char *option, const struct common_string_list *texts,
			   struct record_event_watch **watch)
{
	struct record_event_watch *made = calloc(1, sizeof(*made));
	int status = 0;

	if (made)
		made->list = calloc(texts->count, sizeof(struct record_event_query *));
	if (!made || !made->list)
		status = common_fail_memory("expressions", texts->count * sizeof(struct record_event_query *));
	for (; status == 0 && made->count < texts->count; made->count += status == 0)
		status = record_event_query_new(option, texts->list[made->count], &made->list[made->count]);
	if (status < 0)
		record_event_watch_free(made);
	else
		*watch = made;
	return status;
}

void record_event_watch_free(struct record_event_watch *watch)
{
	for (size_t i = 0; watch && i < watch->count; i++)
		record_event_query_free(watch->list[i]);
	if (watch)
		free(watch->list);
	free(watch);
}

static void note_match(struct record_event_watch *watch, const struct record_asked_event *asked_event)
{
	const char *name = asked_event->schema ? asked_event->schema->event_name : "";

	snprintf(watch->match, sizeof(watch->match), "event %.300s of process %u",
		 *name ? name : "that nothing explains", asked_event->event->pid);
	watch->matched = true;
}

int record_event_watch_event(struct record_event_watch *watch, const struct record_asked_event *asked_event)
{
	bool truth = false;
	int status = 0;

	for (size_t i = 0; status == 0 && !truth && i < watch->count; i++)
		status = record_event_query_holds(watch->list[i], asked_event, &truth);
	if (truth)
		note_match(watch, asked_event);
	return status;
}

const char *record_event_watch_take(struct record_event_watch *watch)
{
	const bool matched = watch->matched;

	watch->matched = false;
	return matched ? watch->match : NULL;
}
