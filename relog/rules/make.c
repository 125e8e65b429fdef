/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes process and thread events for rules. Image events are made in images.c. */
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "relog/rules/run_state.h"

int rules_fold(struct rules_run *run, const struct ptl_event *event)
{
	const bool is_process = format_class_of(&event->descriptor) == FORMAT_CLASS_PROCESS;

	/* The state has a forked process only after the fork's time, so the generation grows again behind this time. */
	run->folded += is_process || run->forked;
	if (is_process || event->time > run->forked)
		run->forked = is_process ? event->time : 0;
	return run->needs_state ? ptl_state_event(run->state, event) : 0;
}

int rules_inject(struct rules_run *run, const struct ptl_event *event)
{
	struct ptl_event copy = *event;
	int status;

	copy.flags |= PTL_EVENT_INJECTED;
	status = run->only == RULES_ONLY_STATE ? 0 : run->output.inject(run->output.context, &copy);
	return status < 0 || run->only == RULES_ONLY_OUTPUT ? status : rules_fold(run, &copy);
}

/* Evaluates a property of a body as a number; `otherwise` without the property. */
static int take_property(const struct query_scope *scope, const struct rules_body *body, enum rules_property property,
			 uint64_t last, uint64_t otherwise, uint64_t *number)
{
	return query_evaluate_number(scope, body->property[property], last, otherwise, number);
}

/* Takes pid, tid and time from the body, else from the event. */
static int take_context(struct rules_run *run, const struct query_scope *scope, const struct rules_body *body,
			struct ptl_event *event)
{
	uint64_t pid, tid, time;
	int status = take_property(scope, body, RULES_PROPERTY_PID, UINT32_MAX, run->now.event.pid, &pid);

	if (!status)
		status = take_property(scope, body, RULES_PROPERTY_TID, UINT32_MAX, run->now.event.tid, &tid);
	if (!status)
		status = take_property(scope, body, RULES_PROPERTY_TIME, UINT64_MAX, run->now.event.time, &time);
	*event = (struct ptl_event){.cpu = run->now.event.cpu};
	if (status < 0)
		return status;
	event->pid = (uint32_t)pid;
	event->tid = (uint32_t)tid;
	event->time = time;
	return 0;
}

static int finish_event(struct rules_run *run, int status, struct ptl_bytes *storage, const struct ptl_event *event)
{
	if (!status)
		status = rules_inject(run, event);
	common_bytes_free(storage);
	return status;
}

int rules_make_process(struct rules_run *run, const struct rules_action *action)
{
	struct query_scope scope = rules_current_scope(run);
	const struct rules_body *body = action->body;
	struct ptl_process_event data = {0};
	struct ptl_bytes storage = {0};
	uint64_t parent, exit_status, key;
	struct ptl_event event;
	int status = take_context(run, &scope, body, &event);

	if (!status)
		status = take_property(&scope, body, RULES_PROPERTY_PARENT, UINT32_MAX, PTL_NO_ID, &parent);
	if (!status)
		status = take_property(&scope, body, RULES_PROPERTY_STATUS, INT32_MAX, 0, &exit_status);
	if (!status)
		status = take_property(&scope, body, RULES_PROPERTY_KEY, UINT64_MAX, 0, &key);
	if (!status)
		status = query_evaluate_text(&scope, body->property[RULES_PROPERTY_PATH], "", &data.image_file_name);
	if (!status)
		status = query_evaluate_text(&scope, body->property[RULES_PROPERTY_COMMAND], "", &data.command_line);
	if (status < 0)
		return status;
	data.process_id = event.pid;
	data.parent_id = (uint32_t)parent;
	data.unique_key = key;
	data.exit_status = (int32_t)exit_status;
	data.has_exit_status = body->property[RULES_PROPERTY_STATUS] != NULL;
	status = ptl_process_encode(&data, (uint8_t)action->index, &storage, &event);
	return finish_event(run, status, &storage, &event);
}

int rules_make_thread(struct rules_run *run, const struct rules_action *action)
{
	struct query_scope scope = rules_current_scope(run);
	const struct rules_body *body = action->body;
	struct ptl_thread_event data = {0};
	struct ptl_bytes storage = {0};
	struct ptl_event event;
	uint64_t start;
	int status = take_context(run, &scope, body, &event);

	if (!status)
		status = take_property(&scope, body, RULES_PROPERTY_START, UINT64_MAX, 0, &start);
	if (!status)
		status = query_evaluate_text(&scope, body->property[RULES_PROPERTY_NAME], "", &data.name);
	if (status < 0)
		return status;
	data.process_id = event.pid;
	data.thread_id = event.tid;
	data.start_address = start;
	status = ptl_thread_encode(&data, (uint8_t)action->index, &storage, &event);
	return finish_event(run, status, &storage, &event);
}
