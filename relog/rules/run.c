/* SPDX-License-Identifier: BSD-2-Clause */
/* Applies rules to one event after the other. */
#include "relog/rules/run.h"

#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "relog/rules/edit.h"
#include "query/glob.h"
#include "relog/rules/images.h"

/* ---- start and end ----------------------------------------------------------------------- */

static bool asks_for_process(const struct query_expr *expr)
{
	if (!expr)
		return false;
	if (expr->op == QUERY_HEADER && (expr->index == QUERY_HEADER_PROCESS || expr->index == QUERY_HEADER_PATH))
		return true;
	for (unsigned i = 0; i < QUERY_ARGUMENTS_MAX; i++)
		if (asks_for_process(expr->argument[i]))
			return true;
	return false;
}

static bool action_asks(const struct rules_action *action)
{
	const struct rules_body *body = action->body;

	if (action->kind == RULES_ACTION_IMAGE_LOAD || action->kind == RULES_ACTION_IMAGE_UNLOAD ||
	    asks_for_process(action->value))
		return true;
	for (unsigned i = 0; body && i < RULES_PROPERTIES; i++)
		if (asks_for_process(body->property[i]))
			return true;
	for (const struct rules_action *looped = action->actions; looped; looped = looped->next)
		if (action_asks(looped))
			return true;
	return false;
}

/* Whether the rules need the state of processes and mappings. */
static bool needs_state(const struct rules *rules)
{
	if (rules->images)
		return true;
	for (const struct rules_rule *rule = rules->rules; rule; rule = rule->next) {
		if (rule->process || rule->image || asks_for_process(rule->where))
			return true;
		for (const struct rules_action *action = rule->actions; action; action = action->next)
			if (action_asks(action))
				return true;
	}
	return false;
}

static int start_rules(struct rules_run *run)
{
	int status = 0;

	if (run->needs_state)
		status = ptl_state_new(&run->state);
	if (!status)
		status = rules_images_new(run, &run->images);
	return status < 0 ? status : rules_schemas_start(run);
}

int rules_run_new(const struct rules *rules, const struct rules_output *output, const struct rules_options *options,
		  struct ptl_trace *const *traces, size_t trace_count, struct rules_run **result)
{
	struct rules_run *run = calloc(1, sizeof(*run));
	int status;

	if (!run)
		return common_fail_memory("rules", sizeof(*run));
	run->rules = rules;
	run->output = *output;
	run->options = *options;
	run->traces = traces;
	run->trace_count = trace_count;
	run->files.folder = rules->folder;
	run->needs_state = needs_state(rules);
	run->matches = calloc(rules->rule_count + 1, sizeof(*run->matches));
	run->counts = calloc(rules->rule_count + 1, sizeof(*run->counts));
	status = run->matches && run->counts ? start_rules(run) : common_fail_memory("rules", rules->rule_count);
	if (status < 0) {
		rules_run_free(run);
		return status;
	}
	*result = run;
	return 0;
}

void rules_run_free(struct rules_run *run)
{
	if (!run)
		return;
	rules_images_free(run->images);
	ptl_state_free(run->state);
	rules_kinds_free(run);
	rules_schemas_free(run);
	query_files_free(&run->files);
	common_arena_free(&run->scratch);
	common_arena_free(&run->names);
	common_byte_map_free(&run->name_map);
	query_payload_free(&run->now.payload);
	free(run->matches);
	free(run->counts);
	free(run);
}

uint64_t rules_run_matches(const struct rules_run *run, size_t rule)
{
	return run->matches[rule];
}

bool rules_run_loaded(const struct rules_run *run, size_t image)
{
	return run->images && run->images->loaded[image];
}

/* ---- renames ----------------------------------------------------------------------------- */

/*
 * Renames *path by the first matching rename statement. The new path is in the scratch arena; without a match *path
 * stays.
 */
static int rename_path(struct rules_run *run, const char **path)
{
	for (const struct rules_rename *rename = run->rules->renames; rename; rename = rename->next) {
		struct query_captures captures;
		struct ptl_bytes out = {0};

		if (!query_glob(rename->pattern, *path, strlen(*path), &captures))
			continue;
		query_replace(&out, rename->replacement, &captures);
		*path = out.failed ? NULL : common_arena_copy(&run->scratch, out.data, out.size);
		common_bytes_free(&out);
		return *path ? 0 : common_fail_memory("a path", out.size);
	}
	return 0;
}

/* Replaces the current event's payload by the payload of `event`. The header stays. */
static int take_payload(struct rules_run *run, int status, const struct ptl_event *event)
{
	char *copy;

	if (status < 0)
		return status;
	copy = common_arena_copy(&run->scratch, event->payload, event->payload_size);
	if (!copy)
		return PTL_NO_MEMORY;
	run->now.event.payload = (const uint8_t *)copy;
	run->now.event.payload_size = event->payload_size;
	run->now.own_payload = true;
	rules_current_changed(run);
	return 0;
}

static int rename_in_image(struct rules_run *run)
{
	struct ptl_bytes storage = {0}, encoded = {0};
	struct ptl_event event = run->now.event;
	struct ptl_image_event data;
	const char *before;
	int status = 0;

	if (!ptl_image_decode(&run->now.event, &storage, &data)) {
		before = data.file_name;
		status = rename_path(run, &data.file_name);
		if (!status && data.file_name != before)
			status = take_payload(run, ptl_image_encode(&data, event.descriptor.opcode, &encoded, &event),
					      &event);
	}
	common_bytes_free(&storage);
	common_bytes_free(&encoded);
	return status;
}

static int rename_in_process(struct rules_run *run)
{
	struct ptl_bytes storage = {0}, encoded = {0};
	struct ptl_event event = run->now.event;
	struct ptl_process_event data;
	const char *before;
	int status = 0;

	if (!ptl_process_decode(&run->now.event, &storage, &data)) {
		before = data.image_file_name;
		status = rename_path(run, &data.image_file_name);
		if (!status && data.image_file_name != before)
			status = take_payload(run, ptl_process_encode(&data, event.descriptor.opcode, &encoded, &event),
					      &event);
	}
	common_bytes_free(&storage);
	common_bytes_free(&encoded);
	return status;
}

/* ---- rules ------------------------------------------------------------------------------- */

static int act(struct rules_run *run, const struct rules_action *action, struct rules_shape *shape);

/* Applies the actions of a loop to each element that the array has when the loop begins. No action adds elements. */
static int act_for_each(struct rules_run *run, const struct rules_action *loop, struct rules_shape *shape)
{
	struct query_scope scope = rules_current_scope(run);
	uint32_t count, next = 0;
	bool there;
	int status = scope.elements(scope.context, loop->loop.array, &count, &there);

	if (!status && !there)
		return rules_edit_lacks(run, loop->loop.array);
	run->now.looping++;
	while (query_next_element(&scope, &loop->loop, count, &next, &status))
		for (const struct rules_action *action = loop->actions; !status && action; action = action->next)
			status = act(run, action, shape);
	run->now.looping--;
	return status < 0 || run->now.looping ? status : rules_edit_flush(run, loop);
}

static int act(struct rules_run *run, const struct rules_action *action, struct rules_shape *shape)
{
	switch (action->kind) {
	case RULES_ACTION_DROP:
		run->now.dropped = true;
		return 0;
	case RULES_ACTION_IMAGE_LOAD:
		return rules_images_load(run, action);
	case RULES_ACTION_IMAGE_UNLOAD:
		return rules_images_unload(run, action);
	case RULES_ACTION_PROCESS:
		return rules_make_process(run, action);
	case RULES_ACTION_THREAD:
		return rules_make_thread(run, action);
	case RULES_ACTION_FOR:
		return act_for_each(run, action, shape);
	default:
		return rules_edit_action(run, action, shape);
	}
}

static bool ends_rules(const struct rules_rule *rule)
{
	const struct rules_action *action = rule->actions;

	while (action->next)
		action = action->next;
	return action->kind == RULES_ACTION_DROP || action->kind == RULES_ACTION_KEEP;
}

static int apply(struct rules_run *run, struct rules_bound *bound)
{
	struct rules_current *now = &run->now;
	struct rules_shape shape = {0};
	struct ptl_trace *trace = now->kind->trace;
	int status = 0;

	run->matches[bound->rule->index]++;
	for (const struct rules_action *action = bound->rule->actions; !status && action; action = action->next)
		status = act(run, action, &shape);
	if (!status && bound->rule->reshapes)
		status = rules_edit_shape(run, bound, &shape);
	now->bound = NULL;
	if (!status && memcmp(&now->kind->descriptor, &now->event.descriptor, sizeof(now->event.descriptor))) {
		if (now->kind->schema && !bound->rule->reshapes)
			status = rules_schema_renumbered(run, trace, now->kind->schema, &now->event.descriptor,
							 bound->rule->at);
		if (!status)
			status = rules_kind_of(run, trace, &now->event, &now->kind);
		rules_current_changed(run);
	}
	return status;
}

/* Applies all rules in order. A rule may change the event's kind, and thereby the set of later rules. */
static int apply_all(struct rules_run *run)
{
	uint32_t next = 0; /* index of the first untried rule */
	bool more = true;

	while (more) {
		const struct rules_kind *kind = run->now.kind;
		size_t i = 0;

		more = false;
		for (; i < kind->bound_count && !more; i++) {
			struct rules_bound *bound = &kind->bound[i];
			const struct rules_rule *rule = bound->rule;
			int status;

			if (rule->index < next)
				continue;
			next = rule->index + 1;
			status = rules_match(run, bound);
			if (status > 0) {
				status = apply(run, bound);
				if (!status && ends_rules(rule))
					return 0;
				more = true;
			}
			if (status < 0)
				return status;
		}
	}
	return 0;
}

/* ---- an event ---------------------------------------------------------------------------- */

static int pass_event(struct rules_run *run)
{
	struct rules_current *now = &run->now;
	enum format_class class = now->kind->class;
	bool passes = true;
	int status = 0;

	if (now->dropped) {
		/* The state keeps a dropped process event: rules ask for names of processes. */
		if (!run->needs_state || class != FORMAT_CLASS_PROCESS)
			return 0;
	} else {
		if (run->needs_state && class != FORMAT_CLASS_NONE)
			status = rules_images_before(run, &now->event, class, &passes);
		if (!status && passes)
			status = run->output.pass(run->output.context, now->changed ? &now->event : NULL);
	}
	if (status < 0 || !run->needs_state || class == FORMAT_CLASS_NONE || !passes)
		return status;
	status = rules_fold(run, &now->event);
	return status < 0 ? status : rules_images_after(run, &now->event, class);
}

static void set_current(struct rules_run *run, const struct ptl_event *event, struct rules_kind *kind)
{
	struct rules_current *now = &run->now;

	now->event = *event;
	now->kind = kind;
	now->changed = now->dropped = now->own_payload = now->payload.decoded = false;
	now->payload.rest = 0;
	now->pending = false;
	now->looping = 0;
	now->loops.steps = 0;
	now->bound = NULL;
	now->program = NULL;
	now->pid = event->pid;
	if (run->scratch.blocks)
		common_arena_reset(&run->scratch);
}

int rules_run_event(struct rules_run *run, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct rules_kind *kind = NULL;
	int status;

	rules_kinds_limit(run);
	status = rules_images_until(run, event->time);
	if (!status)
		status = rules_kind_of(run, trace, event, &kind);
	if (status < 0)
		return status;
	if (!kind->bound_count && kind->class == FORMAT_CLASS_NONE)
		return run->output.pass(run->output.context, NULL);
	set_current(run, event, kind);
	if (run->rules->renames && kind->class == FORMAT_CLASS_IMAGE)
		status = rename_in_image(run);
	else if (run->rules->renames && kind->class == FORMAT_CLASS_PROCESS)
		status = rename_in_process(run);
	if (!status)
		status = apply_all(run);
	return status < 0 ? status : pass_event(run);
}

int rules_run_end(struct rules_run *run)
{
	return rules_images_until(run, UINT64_MAX);
}
