/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump events: the events of all providers in order of time, each with its fields. */
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/error.h"
#include "common/guid.h"
#include "common/message.h"
#include "dump/command.h"
#include "dump/print_text.h"
#include "dump/print_value.h"
#include "dump/session.h"

#define NAME_WIDTH 24
#define PROCESS_WIDTH 20
#define CHECK_EVERY 1024

struct events_options {
	struct dump_options shared; /* first: see dump/command.h */
	const char *provider; /* glob for names, or a GUID */
	bool has_guid;
	struct ptl_guid guid;
	const char *event;    /* glob for "Task/Opcode", or an id */
	bool has_id;
	uint64_t id;
	uint64_t level;       /* 0: all */
};

struct events {
	struct dump_session *session;
	const struct events_options *options;
	const struct ptl_timeline *timeline;
	void (*show)(struct events *events, const struct ptl_event *event,
		     const struct ptl_schema *schema);
	uint64_t start_time;
	struct ptl_bytes line;
	uint64_t seen;
	uint64_t shown;
};

/* ---- options ------------------------------------------------------------------------------------- */

/* TRACE_LEVEL_* of ETW. */
static const char *const level_names[] = {
	"critical", "error", "warning", "information", "verbose",
};

#define LEVELS (sizeof(level_names) / sizeof(level_names[0]))

static int take_provider(void *target, const char *argument)
{
	struct events_options *options = target;

	options->provider = argument;
	options->has_guid = ptl_guid_parse(argument, &options->guid);
	return 0;
}

static int take_event(void *target, const char *argument)
{
	struct events_options *options = target;

	options->event = argument;
	options->has_id = *argument >= '0' && *argument <= '9';
	return options->has_id ? ptl_parse_u64(argument, &options->id) : 0;
}

static int take_level(void *target, const char *argument)
{
	struct events_options *options = target;

	for (size_t i = 0; i < LEVELS; i++) {
		if (strcasecmp(argument, level_names[i]) == 0) {
			options->level = i + 1;
			return 0;
		}
	}
	if (ptl_parse_u64(argument, &options->level) < 0 || options->level > UINT8_MAX)
		return ptl_fail(PTL_MISUSE, "'%s' is no level: critical (1), error (2), warning (3), "
					    "information (4), verbose (5) or a number to 255",
				argument);
	return 0;
}

static const struct ptl_option own_options[] = {
	{"", 0, NULL, "Which events:"},
	{"provider", 'P', "GLOB", "Only those of providers with such a name or this GUID.",
	 take_provider},
	{"event", 'e', "GLOB",
	 "Only those with such a name (\"Image/*\", \"*/Start\") or this id.", take_event},
	{"level", 'l', "LEVEL",
	 "Only those as severe as LEVEL or more: critical, error, warning, information, verbose or a "
	 "number. Events of level 0 always are.",
	 take_level},
	{NULL},
};

static bool matches_provider(const struct events_options *options, const struct ptl_event *event,
			     const struct ptl_schema *schema)
{
	if (!options->provider)
		return true;
	if (options->has_guid)
		return ptl_guid_equal(&options->guid, &event->descriptor.provider);
	return schema && fnmatch(options->provider, schema->provider_name, FNM_CASEFOLD) == 0;
}

static bool matches_event(const struct events_options *options, const struct ptl_event *event,
			  const struct ptl_schema *schema)
{
	if (!options->event)
		return true;
	if (options->has_id)
		return options->id == event->descriptor.id;
	return schema && fnmatch(options->event, schema->event_name, FNM_CASEFOLD) == 0;
}

static bool is_wanted(const struct events *events, const struct ptl_event *event,
		      const struct ptl_schema *schema)
{
	const struct events_options *options = events->options;
	const struct dump_filter *filter = &options->shared.filter;

	if (!dump_filter_wants_thread(filter, event->pid, event->tid) ||
	    !ptl_id_set_has(&filter->cpus, event->cpu))
		return false;
	if (options->level && event->descriptor.level > options->level)
		return false;
	return matches_provider(options, event, schema) && matches_event(options, event, schema);
}

/* ---- text ---------------------------------------------------------------------------------------- */

static void add_name(const struct ptl_event *event, const struct ptl_schema *schema,
		     struct ptl_bytes *text)
{
	char guid[PTL_GUID_TEXT_SIZE];
	const size_t start = text->size;

	if (schema) {
		dump_text_safe(text, schema->provider_name);
		dump_text_add(text, "/");
		dump_text_safe(text, schema->event_name);
	} else {
		ptl_guid_format(&event->descriptor.provider, guid);
		dump_text_format(text, "{%s}/id %u opcode %u", guid, event->descriptor.id,
				 event->descriptor.opcode);
	}
	dump_text_pad(text, start, NAME_WIDTH);
}

/* "gcc (4711)" as of the event's time. */
static void add_process(const struct events *events, const struct ptl_event *event,
			struct ptl_bytes *text)
{
	const size_t start = text->size;
	uint32_t process;

	if (event->pid == PTL_NO_ID) {
		dump_text_add(text, "-");
	} else {
		process = ptl_timeline_process_at(events->timeline, event->pid, event->time);
		if (process != PTL_NONE) {
			dump_text_safe(text, ptl_timeline_process(events->timeline, process)->name);
			dump_text_add(text, " ");
		}
		dump_text_format(text, "(%" PRIu32 ")", event->pid);
	}
	dump_text_pad(text, start, PROCESS_WIDTH);
}

static void add_extras(const struct ptl_event *event, struct ptl_bytes *text)
{
	char guid[PTL_GUID_TEXT_SIZE];

	if (event->flags & PTL_EVENT_HAS_ACTIVITY) {
		ptl_guid_format(&event->activity, guid);
		dump_text_format(text, " activity={%s}", guid);
	}
	if (event->flags & PTL_EVENT_HAS_RELATED) {
		ptl_guid_format(&event->related, guid);
		dump_text_format(text, " related={%s}", guid);
	}
	if (event->flags & PTL_EVENT_INJECTED)
		dump_text_add(text, " (injected)");
}

static void show_text(struct events *events, const struct ptl_event *event,
		      const struct ptl_schema *schema)
{
	const struct dump_session *session = events->session;
	struct ptl_bytes *text = &events->line;

	if (!events->shown)
		fprintf(session->out, "%s       time ms  %-*s  %-*s %8s%s\n", dump_dim(session),
			NAME_WIDTH, "event", PROCESS_WIDTH, "process", "thread",
			dump_plain(session));
	text->size = 0;
	dump_text_time(text, event->time, events->start_time);
	dump_text_add(text, "  ");
	dump_text_add(text, dump_bold(session));
	add_name(event, schema, text);
	dump_text_add(text, dump_plain(session));
	dump_text_add(text, "  ");
	add_process(events, event, text);
	dump_text_add(text, " ");
	if (event->tid == PTL_NO_ID)
		dump_text_add(text, "       -");
	else
		dump_text_decimal_right(text, event->tid, 8);
	if (event->cpu != PTL_NO_CPU)
		dump_text_format(text, " cpu=%" PRIu32, event->cpu);
	if (event->payload_size || event->flags)
		dump_text_add(text, " ");
	add_extras(event, text);
	dump_text_payload(text, schema, event->payload, event->payload_size, events->start_time);
	dump_text_add(text, "\n");
	dump_text_write(text, session->out);
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static void json_guid(struct ptl_json *json, const char *key, const struct ptl_guid *guid)
{
	char text[PTL_GUID_TEXT_SIZE];

	ptl_guid_format(guid, text);
	ptl_json_string(json, key, text);
}

static void json_descriptor(struct ptl_json *json, const struct ptl_descriptor *descriptor,
			    const struct ptl_schema *schema)
{
	json_guid(json, "provider_guid", &descriptor->provider);
	if (schema) {
		ptl_json_string(json, "provider", schema->provider_name);
		ptl_json_string(json, "event", schema->event_name);
		ptl_json_string(json, "task_name", schema->task_name);
		ptl_json_string(json, "opcode_name", schema->opcode_name);
	}
	ptl_json_u64(json, "id", descriptor->id);
	ptl_json_u64(json, "version", descriptor->version);
	ptl_json_u64(json, "channel", descriptor->channel);
	ptl_json_u64(json, "level", descriptor->level);
	ptl_json_u64(json, "opcode", descriptor->opcode);
	ptl_json_u64(json, "task", descriptor->task);
	ptl_json_hex(json, "keyword", descriptor->keyword);
}

static void json_owner(struct events *events, struct ptl_json *json, const struct ptl_event *event)
{
	uint32_t process;

	if (event->cpu != PTL_NO_CPU)
		ptl_json_u64(json, "cpu", event->cpu);
	if (event->pid == PTL_NO_ID)
		return;
	ptl_json_u64(json, "pid", event->pid);
	if (event->tid != PTL_NO_ID)
		ptl_json_u64(json, "tid", event->tid);
	process = ptl_timeline_process_at(events->timeline, event->pid, event->time);
	if (process != PTL_NONE)
		ptl_json_string(json, "process",
				ptl_timeline_process(events->timeline, process)->name);
}

static void json_extended(struct ptl_json *json, const struct ptl_event *event)
{
	struct ptl_bytes hex = {0};

	if (!event->extended_count)
		return;
	ptl_json_array(json, "extended");
	for (size_t i = 0; i < event->extended_count; i++) {
		hex.size = 0;
		dump_text_hex_bytes(&hex, event->extended[i].data, event->extended[i].size);
		ptl_json_object(json, NULL);
		ptl_json_u64(json, "type", event->extended[i].type);
		ptl_json_string(json, "data", dump_text_string(&hex));
		ptl_json_object_end(json);
	}
	ptl_json_array_end(json);
	ptl_bytes_free(&hex);
}

static void show_json(struct events *events, const struct ptl_event *event,
		      const struct ptl_schema *schema)
{
	struct ptl_json *json = &events->session->json_out;

	ptl_json_object(json, NULL);
	dump_json_time(events->session, "time", event->time);
	json_descriptor(json, &event->descriptor, schema);
	json_owner(events, json, event);
	if (event->flags & PTL_EVENT_HAS_ACTIVITY)
		json_guid(json, "activity", &event->activity);
	if (event->flags & PTL_EVENT_HAS_RELATED)
		json_guid(json, "related", &event->related);
	if (event->flags & PTL_EVENT_INJECTED)
		ptl_json_bool(json, "injected", true);
	json_extended(json, event);
	dump_json_payload(json, schema, event->payload, event->payload_size, events->start_time);
	ptl_json_object_end(json);
	ptl_json_line(json);
}

/* ---- the walk ------------------------------------------------------------------------------------ */

static int take(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct events *events = context;
	const struct ptl_schema *schema = ptl_schema_find(trace, &event->descriptor);

	if (++events->seen % CHECK_EVERY == 0) {
		const int status = dump_output_check(events->session);

		if (status < 0)
			return status;
	}
	if (!is_wanted(events, event, schema))
		return 0;
	events->show(events, event, schema);
	events->shown++;
	return events->line.failed ? ptl_fail_memory("line", events->line.size) : 0;
}

/* A name that nothing has is a mistake that an empty list would hide. */
static void check_names(const struct events *events)
{
	const struct events_options *options = events->options;
	const size_t count = ptl_schema_count(events->session->trace);
	struct ptl_bytes names = {0};
	const char *last = "";

	if (events->shown || !(options->provider || options->event))
		return;
	for (size_t i = 0; i < count && names.size < 400; i++) {
		const struct ptl_schema *schema = ptl_schema_at(events->session->trace, i);
		const char *name = options->event ? schema->event_name : schema->provider_name;

		if (strcmp(name, last) != 0)
			dump_text_format(&names, "%s%s", names.size ? ", " : "", name);
		last = name;
	}
	ptl_message_note("no event is like that; this trace can explain: %s",
			 names.size ? dump_text_string(&names) : "no events");
	ptl_bytes_free(&names);
}

static int run(struct dump_session *session)
{
	const struct dump_filter *filter = &session->options->filter;
	const struct ptl_event_filter times = {
		.first_time = filter->first_time,
		.last_time = filter->last_time == UINT64_MAX ? 0 : filter->last_time,
	};
	const struct ptl_callbacks callbacks = {.event = take};
	struct events events = {
		.session = session,
		.options = (const struct events_options *)session->options,
		.show = session->options->json ? show_json : show_text,
		.start_time = ptl_trace_machine(session->trace)->start_time,
	};
	struct ptl_timeline *timeline;
	int status = dump_session_timeline(session, &timeline);

	if (status < 0)
		return status;
	events.timeline = timeline;
	status = ptl_process(session->trace, &times, &callbacks, &events);
	if (status == 0)
		check_names(&events);
	ptl_bytes_free(&events.line);
	ptl_timeline_free(timeline);
	return status;
}

const struct dump_command dump_command_events = {
	.name = "events",
	.summary = "the events of all providers, in order of time",
	.details = "Lists events in order of time: when, what, whose, and their fields.",
	.examples = "ptl-dump events --event 'Process/*' build.ptl\n"
		    "ptl-dump events --provider Kernel --pid 4711 --time ..10ms build.ptl\n"
		    "ptl-dump events --json build.ptl | jq -r '.fields.FileName // empty'",
	.takes = DUMP_TAKES_PROCESS | DUMP_TAKES_CPU | DUMP_TAKES_TIME,
	.options = own_options,
	.options_size = sizeof(struct events_options),
	.run = run,
};
