/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump events: events of all providers, ordered by time, with their fields. */
#include <inttypes.h>
#include <locale.h>
#include <string.h>

#include "analysis/event/activity_tree.h"
#include "analysis/event/event_count.h"
#include "analysis/event/event_filter.h"
#include "common/error.h"
#include "common/plural.h"
#include "common/program/message.h"
#include "common/text/guid.h"
#include "common/text/text.h"
#include "dump/command/commands.h"
#include "dump/print/activity_tree.h"
#include "dump/print/event.h"
#include "dump/print/event_count.h"
#include "dump/print/event_csv.h"
#include "dump/print/event_xml.h"
#include "dump/run/follow.h"
#include "dump/run/run.h"
#include "format/reader/session_files.h"
#include "format/reader/trace_end.h"

#define CHECK_EVERY 1024

struct events_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	struct analysis_event_filter filter;
	bool verbose;
	bool absolute;
	bool stacks;
	bool count;
	bool tree;
	bool csv;
	bool xml;
};

struct events;

/* An output format for selected events. */
struct output {
	int (*event)(struct events *events, const struct ptl_event *event, const struct ptl_schema *schema);
	int (*end)(struct events *events); /* may be NULL */
};

struct events {
	struct dump_run *run;
	struct events_options *options;
	struct dump_event_printer printer;
	struct analysis_event_count count;
	struct analysis_activity_tree tree;
	const struct output *output;
	struct flow_timeline *followed; /* with --follow: a timeline that grows with the trace; else NULL */
	size_t schemas;                 /* schemas and maps whose names have been loaded */
	uint64_t seen;
	uint64_t shown;
};

/* ---- options ------------------------------------------------------------------------------------- */

static int take_activity(void *activities, const char *argument)
{
	struct ptl_guid guid;

	if (!common_guid_parse(argument, &guid))
		return common_fail(PTL_MISUSE, "'%s' is no GUID such as 9e814aad-3204-11d2-9a82-006008a86939",
				   argument);
	return analysis_activities_ask(activities, &guid);
}

static int take_where(void *query, const char *argument)
{
	return analysis_query_add(query, argument);
}

#define EVENTS_FILTER(member, take_event) COMMON_CALLBACK(struct events_options, filter.member, take_event)

static const struct common_option own_options[] = {
	{"", 0, NULL, "Which events (all that are given have to agree; of one given twice, either):"},
	{"provider", 'p', "GLOB", "Only those of providers with such a name or this GUID.",
	 EVENTS_FILTER(providers, analysis_event_providers_take)},
	{"provider", 'P', "GLOB", NULL, EVENTS_FILTER(providers, analysis_event_providers_take)},
	{"event", 'e', "GLOB", "Only those with such a name (\"Image/*\", \"*/Start\") or this id.",
	 EVENTS_FILTER(events, analysis_event_patterns_take)},
	{"level", 0, "LEVEL",
	 "Only those as severe as LEVEL or more: critical, error, warning, informational, verbose or a "
	 "number. Level 0 always is, except of providers without levels, such as the kernel.",
	 EVENTS_FILTER(level, analysis_event_level_take)},
	{"keyword", 'k', "BITS|GLOB",
	 "Only those with any of these bits in their keyword, or with a keyword that their provider "
	 "calls so.",
	 EVENTS_FILTER(keywords, analysis_event_patterns_take)},
	{"task", 0, "GLOB", "Only those of such a task, or of this number.",
	 EVENTS_FILTER(tasks, analysis_event_patterns_take)},
	{"opcode", 0, "GLOB", "Only those with such an opcode (\"Start\"), or of this number.",
	 EVENTS_FILTER(opcodes, analysis_event_patterns_take)},
	{"activity", 'a', "GUID", "Only those of this activity, or that name it as the related one.",
	 EVENTS_FILTER(activities, take_activity)},
	{"related", 0, NULL,
	 "With --activity: of all activities that are joined with it by events that name one as the "
	 "other's related one.",
	 COMMON_FLAG(struct events_options, filter.related)},
	{"where", 'w', "EXPRESSION",
	 "Only those of which it is true: 'UserName == \"Zoe\" && Count > 3', 'not (len(Path) > 9 or event.cpu == 1)'. "
	 "Comparisons: == != < <= > >=, ~ (glob pattern), & (has one of the bits); the rest is as in rules: see "
	 "ptl-rules(5). Several options have to hold together.",
	 EVENTS_FILTER(where, take_where)},
	{"", 0, NULL, "What to show:"},
	{"verbose", 'v', NULL,
	 "Id, version, level, keywords, channel, task, opcode, tags of the event and of its fields, and extended "
	 "items too.",
	 COMMON_FLAG(struct events_options, verbose)},
	{"absolute", 0, NULL, "Times of day, in UTC.", COMMON_FLAG(struct events_options, absolute)},
	{"stacks", 0, NULL,
	 "The stack of each event that has one: a line for each address, the innermost first, with its function and "
	 "image.",
	 COMMON_FLAG(struct events_options, stacks)},
	{"count", 0, NULL,
	 "How many there are of each kind instead, and how many a second: a row for each provider, id, version and "
	 "opcode.",
	 COMMON_FLAG(struct events_options, count)},
	{"tree", 0, NULL,
	 "What activities did instead: a tree of pairs of start and stop, with durations; with --activity that one and "
	 "those "
	 "joined with it.",
	 COMMON_FLAG(struct events_options, tree)},
	{"csv", 0, NULL, "Comma-separated values, the same columns for all events.",
	 COMMON_FLAG(struct events_options, csv)},
	{"xml", 0, NULL, "XML, as tracerpt and wevtutil of Windows write it.", COMMON_FLAG(struct events_options, xml)},
	{NULL},
};

static int events_check(const struct dump_options *shared)
{
	const struct events_options *options = (const struct events_options *)shared;

	if (options->filter.related && !options->filter.activities.selected_count)
		return common_fail(PTL_MISUSE, "--related needs --activity");
	if (options->count + options->tree > 1)
		return common_fail(PTL_MISUSE, "--count does not go with --tree");
	if (shared->json + options->csv + options->xml > 1)
		return common_fail(PTL_MISUSE, "only one of --json, --csv and --xml is possible");
	if ((options->csv || options->xml) && (options->count || options->tree))
		return common_fail(PTL_MISUSE, "--csv and --xml show events: they do not go with --count and --tree");
	if (options->stacks && (options->csv || options->xml || options->count || options->tree))
		return common_fail(PTL_MISUSE, "--stacks goes with text and --json only");
	if (shared->follow && (options->stacks || options->tree || options->filter.related))
		return common_fail(PTL_MISUSE, "--follow does not go with --stacks, --tree and --related, which need "
					       "all of the trace");
	if (shared->follow && shared->filter.processes.count)
		return common_fail(PTL_MISUSE, "--follow does not go with --process: who will run the program is not "
					       "known yet");
	return 0;
}

static void events_free_options(struct dump_options *shared)
{
	analysis_event_filter_free(&((struct events_options *)shared)->filter);
}

/* ---- outputs ------------------------------------------------------------------------------------- */

static int event_text(struct events *events, const struct ptl_event *event, const struct ptl_schema *schema)
{
	return dump_event_text(&events->printer, event, schema);
}

static int event_json(struct events *events, const struct ptl_event *event, const struct ptl_schema *schema)
{
	return dump_event_json(&events->printer, event, schema);
}

static int event_csv(struct events *events, const struct ptl_event *event, const struct ptl_schema *schema)
{
	return dump_event_csv(&events->printer, event, schema);
}

static int event_xml(struct events *events, const struct ptl_event *event, const struct ptl_schema *schema)
{
	return dump_event_xml(&events->printer, event, schema);
}

static int end_xml(struct events *events)
{
	dump_event_xml_end(&events->printer);
	return 0;
}

static int event_count(struct events *events, const struct ptl_event *event, const struct ptl_schema *schema)
{
	return analysis_event_count_add(&events->count, event, schema);
}

/* Returns the time span for rates: the selected span, limited to the trace. */
static uint64_t span_of(const struct events *events)
{
	const struct analysis_filter *filter = &events->options->shared.filter;
	const uint64_t start = ptl_trace_machine(events->run->trace)->start_time;
	const uint64_t end = format_trace_end(events->run->trace);
	const uint64_t first = filter->first_time > start ? filter->first_time : start;
	const uint64_t last = filter->last_time < end ? filter->last_time : end;

	return last > first ? last - first : 0;
}

static int end_count(struct events *events)
{
	return events->shown ? dump_event_count_print(&events->count, events->run, events->printer.values->names,
						      span_of(events))
			     : 0;
}

static int event_tree(struct events *events, const struct ptl_event *event, const struct ptl_schema *schema)
{
	return analysis_activity_tree_add(&events->tree, event, schema);
}

static int end_tree(struct events *events)
{
	int status = dump_activity_tree_print(&events->tree, events->run, events->printer.values->names,
					      events->printer.timeline);

	if (events->shown && !events->tree.count)
		common_message_note("no event begins an activity: none of them has an activity and the opcode Start");
	if (events->tree.stray)
		common_message_note("events that stop an activity whose start is not there: %" PRIu64,
				    events->tree.stray);
	return status;
}

static const struct output *output_of(const struct events_options *options)
{
	static const struct output text = {event_text, NULL}, json = {event_json, NULL}, csv = {event_csv, NULL},
				   xml = {event_xml, end_xml}, count = {event_count, end_count},
				   tree = {event_tree, end_tree};

	if (options->count)
		return &count;
	if (options->tree)
		return &tree;
	if (options->csv)
		return &csv;
	if (options->xml)
		return &xml;
	return options->shared.json ? &json : &text;
}

/* ---- the walk ------------------------------------------------------------------------------------ */

/* Updates names and processes from a growing trace. */
static int keep_up(struct events *events, const struct ptl_event *event)
{
	const struct ptl_trace *trace = events->run->trace;
	const size_t schemas = ptl_schema_count(trace) + ptl_map_count(trace);
	struct analysis_names *names = events->printer.values->names;

	if (schemas != events->schemas) {
		events->schemas = schemas;
		analysis_names_free(names);
		*names = (struct analysis_names){0};
		if (analysis_names_load(names, trace) < 0)
			return PTL_NO_MEMORY;
	}
	return flow_timeline_event(events->followed, event);
}

static int take_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct events *events = context;
	const struct analysis_filter *shared = &events->options->shared.filter;
	const struct ptl_schema *schema = ptl_schema_of(trace, event);
	int status = events->followed ? keep_up(events, event) : 0;

	if (status < 0)
		return status;
	if (events->options->shared.session)
		status = format_session_files_repeat(events->options->shared.session, event);
	if (status)
		return status < 0 ? status : 0;
	if (++events->seen % CHECK_EVERY == 0)
		status = dump_output_check(events->run);
	if (status < 0)
		return status;
	if (!analysis_filter_wants_thread(shared, event->pid, event->tid) ||
	    !common_id_set_has(&shared->cpus, event->cpu) ||
	    !analysis_event_filter_wants(&events->options->filter, events->printer.values, event, schema))
		return 0;
	events->shown++;
	return events->output->event(events, event, schema);
}

static int join_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct events *events = context;

	(void)trace;
	return analysis_activities_join(&events->options->filter.activities, event);
}

/* ---- empty output -------------------------------------------------------------------------------- */

/* Warns of events that were left out because the expression failed. */
static void check_failures(const struct events *events)
{
	const struct analysis_query *where = &events->options->filter.where;

	if (where->failures)
		common_message_warning("%s; events left out for that: %" PRIu64,
				       where->failure ? where->failure : "out of memory", where->failures);
}

/* Prints notes about patterns without a match, even if other patterns matched. */
static void check_patterns(const struct events *events)
{
	const struct analysis_event_filter *filter = &events->options->filter;

	for (size_t i = 0; i < filter->providers.count; i++)
		if (!filter->providers.list[i].matched)
			common_message_note("--provider: no event is of a provider like '%s'",
					    filter->providers.list[i].text);
	for (size_t i = 0; i < filter->keywords.count; i++) {
		const struct analysis_event_pattern *pattern = &filter->keywords.list[i];

		if (pattern->has_number && !(pattern->number & filter->keyword_bits))
			common_message_note("--keyword: no event has any of the bits %s in its keyword", pattern->text);
		else if (!pattern->has_number && !pattern->matched)
			common_message_note("--keyword: no provider of an event has a keyword like '%s'",
					    pattern->text);
	}
}

/* Prints notes about names that do not exist in the trace: an empty list would hide a misspelling. */
static void check_names(const struct events *events)
{
	const struct analysis_event_filter *filter = &events->options->filter;
	const size_t count = ptl_schema_count(events->run->trace);
	struct ptl_bytes names = {0};
	const char *last = "";

	/* In a running session, such an event may still come. */
	if (events->options->shared.session)
		return;
	check_patterns(events);
	check_failures(events);
	if (events->shown)
		return;
	analysis_query_note_fields(&events->options->filter.where, events->run->trace);
	if (filter->without_level) {
		common_message_note("--level: %" PRIu64 " " COMMON_PLURAL(
					    "event that fits otherwise has no level: its provider gives",
					    "events that fit otherwise have no level: their providers give") " none",
				    filter->without_level);
		return;
	}
	if (!filter->providers.count && !filter->events.count) {
		common_message_note("there is no event to show");
		return;
	}
	for (size_t i = 0; i < count && names.size < 400; i++) {
		const struct ptl_schema *schema = ptl_schema_at(events->run->trace, i);
		const char *name = filter->events.count ? schema->event_name : schema->provider_name;

		if (strcmp(name, last) != 0)
			common_text_format(&names, "%s%s", names.size ? ", " : "", name);
		last = name;
	}
	common_message_note("no event is like that; this trace can explain: %s",
			    names.size ? common_text_string(&names) : "no events");
	common_bytes_free(&names);
}

/* ---- the command --------------------------------------------------------------------------------- */

static int show_events(struct events *events)
{
	struct ptl_trace *trace = events->run->trace;
	const struct analysis_filter *filter = &events->options->shared.filter;
	const struct ptl_event_filter times = {
		.size = sizeof(times),
		.first_time = filter->first_time,
		.last_time = filter->last_time == UINT64_MAX ? 0 : filter->last_time,
	};
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = take_event},
				   joining = {.size = sizeof(joining), .event = join_event};
	int status = 0;

	/* Events that join activities may be anywhere in the trace. */
	if (events->options->filter.related ||
	    (events->options->tree && events->options->filter.activities.selected_count))
		status = ptl_process(trace, NULL, &joining, events);
	if (status == 0)
		status = ptl_process(trace, &times, &callbacks, events);
	if (events->followed)
		status = dump_follow_end(events->run, status);
	if (status == 0 && events->output->end)
		status = events->output->end(events);
	if (status == 0)
		check_names(events);
	return status;
}

/* Processes events in a UTF-8 locale: glob patterns match UTF-8 names, whatever the user's locale is. */
static int show_in_utf8(struct events *events)
{
	const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	const locale_t before = locale ? uselocale(locale) : (locale_t)0;
	const int status = show_events(events);

	if (locale) {
		uselocale(before);
		freelocale(locale);
	}
	return status;
}

/* Shows events, with symbols for stacks if requested. */
static int show_with_stacks(struct events *events)
{
	struct dump_run *run = events->run;
	struct analysis_stacks stacks = {.timeline = events->printer.timeline};
	int status = 0;

	if (events->options->stacks) {
		status = flow_symbols_open(run->trace, stacks.timeline, dump_run_names(events->run), &stacks.symbols);
		events->printer.stacks = &stacks;
	}
	if (status == 0)
		status = show_in_utf8(events);
	if (stacks.symbols && flow_symbols_unreadable(stacks.symbols))
		common_message_warning("names are missing: symbol tables that could not be read: %zu",
				       flow_symbols_unreadable(stacks.symbols));
	flow_symbols_close(stacks.symbols);
	return status;
}

static int events_run(struct dump_run *run)
{
	struct analysis_names names = {0};
	struct analysis_values values = {
		.start_time = ptl_trace_machine(run->trace)->start_time,
		.names = &names,
	};
	struct events events = {
		.run = run,
		.options = (struct events_options *)run->options,
		.printer = {.run = run, .values = &values},
	};
	struct flow_timeline *timeline;
	int status = run->options->follow ? flow_timeline_begin(&timeline) : dump_run_timeline(run, &timeline);

	if (status < 0)
		return status;
	events.followed = run->options->follow ? timeline : NULL;
	events.printer.timeline = events.options->filter.where.timeline = timeline;
	events.printer.verbose = events.options->verbose;
	events.printer.goes_on = run->options->session && run->options->session->files > 1;
	events.printer.absolute = events.options->absolute;
	events.output = output_of(events.options);
	status = analysis_names_load(&names, run->trace);
	if (status == 0)
		status = show_with_stacks(&events);
	if (status == 0 && !run->options->session)
		analysis_note_lost_events(run->trace);
	dump_event_printer_free(&events.printer);
	analysis_event_count_free(&events.count);
	analysis_activity_tree_free(&events.tree);
	common_bytes_free(&values.scratch);
	analysis_names_free(&names);
	flow_timeline_free(timeline);
	return status;
}

const struct dump_command dump_command_events = {
	.name = "events",
	.summary = "the events of all providers, in order of time",
	.details = "Lists events in order of time: when, what, whose, what its author says about it, and its "
		   "fields.",
	.examples = "ptl-dump events --event 'Process/*' build.ptl\n"
		    "ptl-dump events -p Kernel --pid 4711 --time ..10ms build.ptl\n"
		    "ptl-dump events -w 'UserName == \"Zoe\" && Count > 3' --level warning app.ptl\n"
		    "ptl-dump events --count build.ptl\n"
		    "ptl-dump events --tree app.ptl         what activities did, and how long\n"
		    "ptl-dump events --csv --absolute app.ptl > events.csv\n"
		    "ptl-dump events --json build.ptl | jq -r '.fields.FileName // empty'",
	.takes = DUMP_TAKES_PROCESS | DUMP_TAKES_CPU | DUMP_TAKES_TIME | DUMP_TAKES_NAMES | DUMP_TAKES_FULL |
		 DUMP_TAKES_FOLLOW,
	.options = own_options,
	.options_size = sizeof(struct events_options),
	.check = events_check,
	.run = events_run,
	.free_options = events_free_options,
};
