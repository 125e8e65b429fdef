/* SPDX-License-Identifier: BSD-2-Clause */
/* Connects rules with the relogger: feeds events to a run, and results to the output. */
#include "relog/rules/stage.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <ptl/kernel.h>

#include "analysis/call/call_selection.h"
#include "common/error.h"
#include "common/file.h"
#include "common/plural.h"
#include "common/program/message.h"
#include "common/text/text.h"
#include "format/metadata/metadata.h"
#include "relog/rules/parse.h"
#include "relog/rules/ptwrite.h"
#include "relog/rules/run.h"
#include "relog/settings/kernel_schemas.h"

struct stage {
	struct rules rules;
	struct rules_options options;
	struct rules_run *run;
	struct rules_ptwrites *ptwrites; /* NULL: the rules have no ptwrite statement */
	bool quiet;                      /* an earlier run has counted the PTWRITE packets */
	struct ptl_relogger *relogger;
	struct ptl_trace **traces;
	struct ptl_trace_event *event; /* the event that rules are currently applied to */
};

/* ---- from rules to the relogger ----------------------------------------------------------- */

static int pass_changed(struct ptl_trace_event *event, const struct ptl_event *changed)
{
	const struct ptl_event *old = ptl_event_record(event);

	if (changed->payload != old->payload || changed->payload_size != old->payload_size) {
		int status = ptl_event_set_payload(event, changed->payload, changed->payload_size);

		if (status < 0)
			return status;
	}
	ptl_event_set_descriptor(event, &changed->descriptor);
	ptl_event_set_pid(event, changed->pid);
	ptl_event_set_tid(event, changed->tid);
	ptl_event_set_cpu(event, changed->cpu);
	ptl_event_set_time(event, changed->time);
	ptl_event_set_activity(event, changed->flags & PTL_EVENT_HAS_ACTIVITY ? &changed->activity : NULL);
	ptl_event_set_related(event, changed->flags & PTL_EVENT_HAS_RELATED ? &changed->related : NULL);
	return 0;
}

static int pass_to_relogger(void *context, const struct ptl_event *changed)
{
	struct stage *stage = context;
	int status = changed ? pass_changed(stage->event, changed) : 0;

	return status < 0 ? status : ptl_relogger_inject(stage->relogger, stage->event);
}

static int inject(void *context, const struct ptl_event *event)
{
	return ptl_relogger_inject_record(((struct stage *)context)->relogger, event);
}

static int schema(void *context, const struct ptl_schema *schema)
{
	return ptl_relogger_schema(((struct stage *)context)->relogger, schema);
}

static int map(void *context, const struct ptl_map *map)
{
	struct ptl_bytes body = {0};
	int status;

	format_map_encode(map, &body);
	status = body.failed ? common_fail_memory("names of numbers", body.size)
			     : ptl_relogger_record(((struct stage *)context)->relogger, FORMAT_RECORD_MAP, body.data,
						   body.size);
	common_bytes_free(&body);
	return status;
}

static int blob(void *context, uint32_t type, const void *data, size_t size, uint8_t hash[PTL_HASH_SIZE])
{
	return ptl_relogger_blob(((struct stage *)context)->relogger, type, data, size, hash);
}

static int blob_file(void *context, uint32_t type, int fd, uint64_t offset, uint64_t size, uint8_t hash[PTL_HASH_SIZE])
{
	return ptl_relogger_blob_file(((struct stage *)context)->relogger, type, fd, offset, size, hash);
}

static void warning(void *context, const char *text)
{
	(void)context;
	common_message_warning("%s", text);
}

/* ---- from the relogger to rules ----------------------------------------------------------- */

static bool makes_event(const struct rules_action *actions)
{
	for (const struct rules_action *action = actions; action; action = action->next)
		if (action->kind == RULES_ACTION_FOR ? makes_event(action->actions)
						     : action->kind >= RULES_ACTION_IMAGE_LOAD)
			return true;
	return false;
}

static bool makes_events(const struct rules *rules)
{
	if (rules->images)
		return true;
	for (const struct rules_rule *rule = rules->rules; rule; rule = rule->next)
		if (makes_event(rule->actions))
			return true;
	return false;
}

static int rules_begin(void *context, struct ptl_relogger *relogger)
{
	struct stage *stage = context;
	size_t count = ptl_relogger_input_count(relogger);
	const struct rules_output output = {
		.context = stage,
		.pass = pass_to_relogger,
		.inject = inject,
		.schema = schema,
		.map = map,
		.blob = blob,
		.blob_file = blob_file,
		.warning = warning,
	};
	int status;

	stage->relogger = relogger;
	stage->traces = calloc(count + 1, sizeof(*stage->traces));
	if (!stage->traces)
		return common_fail_memory("rules", count * sizeof(*stage->traces));
	for (size_t i = 0; i < count; i++)
		stage->traces[i] = ptl_relogger_input_trace(ptl_relogger_input_at(relogger, i));
	stage->options.start_time = count ? ptl_trace_machine(stage->traces[0])->start_time : 0;
	status = makes_events(&stage->rules) ? relog_kernel_schemas_write(relogger) : 0;
	return status < 0 ? status
			  : rules_run_new(&stage->rules, &output, &stage->options, stage->traces, count, &stage->run);
}

static int rules_event(void *context, struct ptl_relogger *relogger, struct ptl_trace_event *event)
{
	struct stage *stage = context;

	(void)relogger;
	stage->event = event;
	return rules_run_event(stage->run, ptl_relogger_input_trace(ptl_event_input(event)), ptl_event_record(event));
}

/* Prints a warning, and records it in the trace. */
static int report_unmatched(struct stage *stage, const struct query_place *at, const char *what)
{
	struct ptl_bytes text = {0};
	int status;

	common_text_format(&text, "%s:%u:%u: %s", stage->rules.name, at->line, at->column, what);
	common_message_warning("%s", common_text_string(&text));
	status = ptl_relogger_unmatched(stage->relogger, common_text_string(&text));
	common_bytes_free(&text);
	return status;
}

static int report_unloaded(struct stage *stage)
{
	const struct rules_image *image = stage->rules.images;
	int status = 0;

	for (size_t i = 0; !status && image; i++, image = image->next)
		if (!rules_run_loaded(stage->run, i))
			status = report_unmatched(stage, &image->at, "this image was loaded in no process");
	return status;
}

static bool has_field(const struct ptl_trace *trace, const char *name)
{
	for (size_t i = 0; i < ptl_schema_count(trace); i++) {
		const struct ptl_schema *schema = ptl_schema_at(trace, i);

		for (size_t j = 0; j < schema->field_count; j++)
			if (schema->fields[j].name && !strcmp(schema->fields[j].name, name))
				return true;
	}
	return false;
}

/*
 * Warns of fields that no schema has, probably typing errors. Does not warn if the rules define schemas, which may have
 * the fields.
 */
static void report_unknown_fields(const struct stage *stage, const struct rules_rule *rule)
{
	for (size_t i = 0; i < rule->fields.count && !stage->rules.schemas; i++) {
		const struct query_field *field = &rule->fields.list[i];
		bool known = !field->condition || !field->steps[0].name;

		for (size_t j = 0; !known && j < ptl_relogger_input_count(stage->relogger); j++)
			known = has_field(stage->traces[j], field->steps[0].name);
		if (!known)
			common_message_warning("%s:%u:%u: no event of the trace has a field %s", stage->rules.name,
					       field->at.line, field->at.column, field->steps[0].name);
	}
}

static int rules_end(void *context, struct ptl_relogger *relogger)
{
	struct stage *stage = context;
	int status = rules_run_end(stage->run);

	(void)relogger;
	for (const struct rules_rule *rule = stage->rules.rules; !status && rule; rule = rule->next)
		if (!rules_run_matches(stage->run, rule->index)) {
			status = report_unmatched(stage, &rule->at, "this rule matched no event");
			report_unknown_fields(stage, rule);
		}
	return status ? status : report_unloaded(stage);
}

/* ---- PTWRITE packets ---------------------------------------------------------------------- */

/*
 * A set of callbacks before those of the rules: the rules see the events of PTWRITE packets as events of the trace. The
 * schemas are complete before the rules begin.
 */
static int ptwrites_begin(void *context, struct ptl_relogger *relogger)
{
	return rules_ptwrites_read(((struct stage *)context)->ptwrites, relogger);
}

static int ptwrites_event(void *context, struct ptl_relogger *relogger, struct ptl_trace_event *event)
{
	const struct stage *stage = context;
	const int status = rules_ptwrites_inject(stage->ptwrites, relogger, ptl_event_record(event)->time);

	return status < 0 ? status : ptl_relogger_inject(relogger, event);
}

static int report_site(void *context, const struct query_place *at, const char *text)
{
	return report_unmatched(context, at, text);
}

/* Warns of input traces with events of an earlier run of the rules. */
static void note_repeated(const struct stage *stage, const struct rules_ptwrite *ptwrite, size_t index)
{
	for (size_t i = 0; i < ptl_relogger_input_count(stage->relogger); i++) {
		struct ptl_relogger_input_info info;

		ptl_relogger_input_info(ptl_relogger_input_at(stage->relogger, i), &info);
		if (rules_ptwrites_repeated(stage->ptwrites, index, stage->traces[i]))
			common_message_warning("%s:%u:%u: %s has events of this number already; if an earlier run made "
					       "them of PTWRITE packets, they are there twice",
					       stage->rules.name, ptwrite->at.line, ptwrite->at.column, info.name);
	}
}

static void note_ptwrites(const struct stage *stage)
{
	const struct rules_ptwrite_counts sum = rules_ptwrites_counts(stage->ptwrites);
	const struct rules_ptwrite *ptwrite = stage->rules.ptwrites;

	for (size_t i = 0; ptwrite; i++, ptwrite = ptwrite->next) {
		const struct rules_ptwrite_counts counts = rules_ptwrites_counts_of(stage->ptwrites, i);

		note_repeated(stage, ptwrite, i);
		if (counts.misfits)
			common_message_warning(
				"%s:%u:%u: %" PRIu64
				" PTWRITE " COMMON_PLURAL("packet does", "packets do") " not fit the %u " COMMON_PLURAL(
					"byte", "bytes") " of the fields: no event",
				stage->rules.name, ptwrite->at.line, ptwrite->at.column, counts.misfits, ptwrite->size);
		if (counts.untimed)
			common_message_warning("%s:%u:%u: the times of %" PRIu64 " PTWRITE packets are unknown; their "
					       "events have the last known time",
					       stage->rules.name, ptwrite->at.line, ptwrite->at.column, counts.untimed);
	}
	if (sum.unlocated)
		common_message_warning("%" PRIu64 " PTWRITE packets become no events: the flow does not tell their "
				       "instructions",
				       sum.unlocated);
	common_message_note("events of PTWRITE packets: %" PRIu64 "; PTWRITE packets of no rule: %" PRIu64, sum.made,
			    sum.unnamed);
}

static int ptwrites_end(void *context, struct ptl_relogger *relogger)
{
	struct stage *stage = context;
	int status = rules_ptwrites_inject(stage->ptwrites, relogger, UINT64_MAX);

	if (!status)
		status = rules_ptwrites_report(stage->ptwrites, report_site, stage);
	if (!status && !stage->quiet)
		note_ptwrites(stage);
	return status;
}

/* ptwrite statements decode the whole flow. Options that choose events read the inputs before, and would miss events. */
static int check_ptwrites(struct relog_settings *settings, const struct rules *rules)
{
	const struct analysis_window_options *windows = &settings->windows.choice;
	const struct {
		const char *name;
		bool given;
	} options[] = {
		{"--around", windows->around},
		{"--between", windows->between},
		{"--calls with an expression",
		 windows->calls && analysis_call_selection_has_expression(windows->calls)},
		{"--anchor", settings->clocks.anchor},
		{"--order", settings->clocks.order},
	};

	settings->rules_need_whole = rules->ptwrites != NULL;
	for (size_t i = 0; rules->ptwrites && i < sizeof(options) / sizeof(options[0]); i++)
		if (options[i].given)
			return common_fail(PTL_MISUSE,
					   "%s:%u:%u: ptwrite makes events, and %s sees only events of the inputs: "
					   "apply the rules first, in a run of their own",
					   rules->name, rules->ptwrites->at.line, rules->ptwrites->at.column,
					   options[i].name);
	return 0;
}

int relog_rules_load(struct relog_settings *settings)
{
	struct rules rules;
	uint8_t *data;
	size_t size;
	int status;

	if (!settings->rules)
		return 0;
	status = common_read_file(settings->rules, RULES_FILE_MAX, &data, &size);
	if (status < 0)
		return status;
	settings->rules_text = (struct ptl_bytes){.data = data, .size = size, .capacity = size + 1};
	status = rules_parse(settings->rules, (const char *)data, size, &rules);
	if (!status)
		status = check_ptwrites(settings, &rules);
	rules_free(&rules);
	return status;
}

static int add_ptwrites(struct stage *stage, struct ptl_relogger *relogger)
{
	const struct ptl_relogger_callbacks callbacks = {
		.size = sizeof(callbacks), .begin = ptwrites_begin, .event = ptwrites_event, .end = ptwrites_end};
	int status;

	if (!stage->rules.ptwrites)
		return 0;
	status = rules_ptwrites_new(&stage->rules, &stage->ptwrites);
	return status < 0 ? status : ptl_relogger_callbacks(relogger, &callbacks, stage);
}

/* ---- the stage --------------------------------------------------------------------------- */

static void free_stage(void *state)
{
	struct stage *stage = state;

	rules_run_free(stage->run);
	rules_ptwrites_free(stage->ptwrites);
	rules_free(&stage->rules);
	free(stage->traces);
	free(stage);
}

static int rules_add(const struct relog_settings *settings, struct ptl_relogger *relogger, void **state)
{
	const struct ptl_relogger_callbacks callbacks = {
		.size = sizeof(callbacks), .begin = rules_begin, .event = rules_event, .end = rules_end};
	struct stage *stage;
	int status;

	if (!settings->rules)
		return 0;
	stage = calloc(1, sizeof(*stage));
	if (!stage)
		return common_fail_memory("rules", sizeof(*stage));
	stage->options.replace = settings->replace;
	stage->quiet = settings->repeated;
	status = rules_parse(settings->rules, (const char *)settings->rules_text.data, settings->rules_text.size,
			     &stage->rules);
	if (!status)
		status = add_ptwrites(stage, relogger);
	if (!status)
		status = ptl_relogger_callbacks(relogger, &callbacks, stage);
	if (status < 0)
		free_stage(stage);
	else
		*state = stage;
	return status;
}

static const char *text_of(const void *state)
{
	return ((const struct stage *)state)->rules.text;
}

const struct relog_stage relog_stage_rules = {
	.name = "rules",
	.add = rules_add,
	.free = free_stage,
	.rules = text_of,
};
