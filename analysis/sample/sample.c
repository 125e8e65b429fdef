/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks the events of a trace, and sums up the stacks of selected events. */
#include "analysis/sample/sample.h"

#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/event/event_query.h"
#include "analysis/event/stack.h"
#include "analysis/sample/sample_fold.h"
#include "analysis/sample/sample_kind.h"
#include "common/error.h"
#include "common/hash.h"
#include "common/plural.h"
#include "common/program/message.h"
#include "common/text/text.h"
#include "common/thread_pool.h"
#include "common/vector.h"

#define CACHE_BITS 14
#define CACHE_SIZE ((size_t)1 << CACHE_BITS)

/* Spans of time are processed in parallel: at least SPAN_BYTES of events each, at most SPANS_MAX spans. */
#define SPAN_BYTES ((uint64_t)4 << 20)
#define SPANS_MAX 64

/* Cached function of a stack frame. */
struct known {
	struct analysis_stack_space space;
	struct analysis_stack_frame frame;
	uint32_t function;
	bool valid;
};

struct walk {
	struct analysis_calls *calls;
	struct analysis_sample_kinds kinds;
	struct analysis_sample_fold fold;
	const struct analysis_sample_options *options;
	struct analysis_names names;
	struct analysis_values values;
	struct analysis_query where;
	struct analysis_stacks stacks;
	struct analysis_stack_frames frames;
	struct known *cache;
	uint32_t *functions; /* of the current stack */
	size_t function_capacity;
	uint64_t without_period; /* samples without a period */
	uint64_t failures;       /* events for which the expression failed */
};

/* ---- a sample ------------------------------------------------------------------------------------ */

static int ask_function(struct walk *walk, const struct analysis_stack_space *space,
			const struct analysis_stack_frame *frame, uint32_t *function)
{
	struct analysis_function_table *table = walk->calls->functions;
	const uint32_t image = analysis_stack_image(&walk->stacks, space, frame);
	struct analysis_code_place place;
	int status = analysis_functions_place(table, image, analysis_stack_place(&walk->stacks, image, frame), &place);

	*function = place.function;
	if (status == 0 && *function == ANALYSIS_NO_FUNCTION && image != FLOW_NONE)
		status = analysis_functions_unknown(table, image, function);
	return status;
}

static int find_function(struct walk *walk, const struct analysis_stack_space *space,
			 const struct analysis_stack_frame *frame, uint32_t *function)
{
	struct known *known =
		&walk->cache[common_hash_high(frame->address ^ (uint64_t)space->roots[0] << 40, CACHE_BITS)];
	int status = 0;

	if (!known->valid || known->frame.address != frame->address || known->frame.returns != frame->returns ||
	    known->space.roots[0] != space->roots[0] || known->space.roots[1] != space->roots[1]) {
		*known = (struct known){.space = *space, .frame = *frame};
		status = ask_function(walk, space, frame, &known->function);
		known->valid = status == 0;
	}
	*function = known->function;
	return status;
}

static struct analysis_sample_thread thread_of(const struct walk *walk, const struct ptl_event *event)
{
	const struct flow_timeline *timeline = walk->calls->timeline;
	struct analysis_sample_thread thread = {
		.process = flow_timeline_process_at(timeline, event->pid, event->time),
		.pid = event->pid,
		.tid = event->tid,
		.cpu = event->pid == PTL_NO_ID ? event->cpu : PTL_NO_CPU,
	};
	const struct flow_program *program = thread.process == FLOW_NONE
						     ? NULL
						     : flow_timeline_program_at(timeline, thread.process, event->time);

	if (program)
		thread.program = (uint32_t)(program - flow_timeline_process(timeline, thread.process)->programs) + 1;
	return thread;
}

static int add_sample(struct walk *walk, const struct ptl_event *event, const struct analysis_sample *sample)
{
	const struct analysis_sample_thread thread = thread_of(walk, event);
	const struct analysis_stack_space space = analysis_stack_space(&walk->stacks, event);
	const struct analysis_stack_frame single = {.address = sample->instruction};
	const struct analysis_stack_frame *frames = &single;
	size_t count = 1;
	uint32_t number;
	int status = sample->has_stack ? analysis_stack_frames_read(&walk->frames, event) : 0;

	if (sample->has_stack) {
		frames = walk->frames.list;
		count = walk->frames.count;
	}
	if (status == 0)
		status = COMMON_VECTOR_RESERVE(walk->functions, walk->function_capacity, count, "stacks");
	for (size_t i = 0; status == 0 && i < count; i++)
		status = find_function(walk, &space, &frames[i], &walk->functions[i]);
	if (status == 0)
		status = analysis_sample_thread(&walk->fold, &thread, &number);
	if (status == 0)
		status = analysis_sample_add(&walk->fold, number, walk->functions, count, sample->period);
	walk->without_period += !sample->period;
	return status;
}

/* ---- the walk ------------------------------------------------------------------------------------ */

static int take_sample_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct walk *walk = context;
	const struct analysis_filter *filter = walk->calls->input.filter;
	const struct ptl_schema *schema = ptl_schema_of(trace, event);
	struct analysis_sample sample;
	int status;

	if (!analysis_filter_wants_thread(filter, event->pid, event->tid) ||
	    !common_id_set_has(&filter->cpus, event->cpu))
		return 0;
	if (walk->options->where && !analysis_query_matches(&walk->where, &walk->values, event, schema))
		return 0;
	status = analysis_sample_read(&walk->kinds, event, schema, &sample);
	return status > 0 ? add_sample(walk, event, &sample) : status;
}

static int open_walk(struct walk *walk, const struct walk *like)
{
	const struct ptl_trace *trace = like->calls->input.trace;
	int status;

	*walk = (struct walk){.calls = like->calls, .options = like->options, .stacks = like->stacks};
	walk->kinds.names = &walk->names;
	walk->kinds.pattern = like->kinds.pattern;
	walk->kinds.exact = like->kinds.exact;
	walk->values = (struct analysis_values){.start_time = ptl_trace_machine(trace)->start_time,
						.names = &walk->names};
	walk->where.timeline = like->calls->timeline;
	walk->cache = calloc(CACHE_SIZE, sizeof(*walk->cache));
	status = walk->cache ? analysis_names_load(&walk->names, trace)
			     : common_fail_memory("functions", CACHE_SIZE * sizeof(*walk->cache));
	return status == 0 && like->options->where ? analysis_query_add(&walk->where, like->options->where) : status;
}

static void close_walk(struct walk *walk)
{
	analysis_sample_kinds_free(&walk->kinds);
	analysis_sample_fold_free(&walk->fold);
	analysis_query_free(&walk->where);
	analysis_names_free(&walk->names);
	common_bytes_free(&walk->values.scratch);
	free(walk->frames.list);
	free(walk->functions);
	free(walk->cache);
	*walk = (struct walk){0};
}

/* The trace divided into spans of time. Each span has a walk. The sums of the walks are added to `sum` in order. */
struct spans {
	struct walk *sum;
	struct walk *walks; /* owned */
	size_t count;
	uint64_t start, length; /* start of the first span; length of each span */
};

static struct ptl_event_filter times_of(const struct spans *spans, size_t number)
{
	const struct analysis_filter *filter = spans->sum->calls->input.filter;
	const uint64_t start = spans->start + number * spans->length;
	const bool last = number + 1 == spans->count;

	/* The first span also has all earlier events, the last span all later events. */
	return (struct ptl_event_filter){
		.size = sizeof(struct ptl_event_filter),
		.first_time = number ? start : filter->first_time,
		.last_time = !last                             ? start + spans->length - 1
			     : filter->last_time == UINT64_MAX ? 0
							       : filter->last_time,
	};
}

/* Processes events in a UTF-8 locale: glob patterns match UTF-8 names, whatever the user's locale is. */
static int process_in_utf8(struct walk *walk, const struct ptl_event_filter *times)
{
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = take_sample_event};
	const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	const locale_t before = locale ? uselocale(locale) : (locale_t)0;
	const int status = ptl_process(walk->calls->input.trace, times, &callbacks, walk);

	if (locale) {
		uselocale(before);
		freelocale(locale);
	}
	return status;
}

static int walk_span(void *context, unsigned worker, size_t number)
{
	const struct spans *spans = context;
	const struct ptl_event_filter times = times_of(spans, number);
	struct walk *walk = &spans->walks[number];
	const int status = open_walk(walk, spans->sum);

	(void)worker;
	return status == 0 ? process_in_utf8(walk, &times) : status;
}

static int add_span(void *context, size_t number)
{
	const struct spans *spans = context;
	struct walk *walk = &spans->walks[number], *sum = spans->sum;
	int status = analysis_sample_kinds_merge(&sum->kinds, &walk->kinds);

	if (status == 0)
		status = analysis_sample_merge(&sum->fold, &walk->fold);
	sum->without_period += walk->without_period;
	sum->failures += walk->where.failures;
	close_walk(walk);
	return status;
}

/*
 * Chooses the number of spans by the size of the trace. The number of threads must not influence which samples exceed
 * the limits.
 */
static void choose_spans(struct spans *spans)
{
	const struct ptl_trace *trace = spans->sum->calls->input.trace;
	const struct analysis_filter *filter = spans->sum->calls->input.filter;
	uint64_t bytes = 0, first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < ptl_stream_count(trace); i++) {
		const struct ptl_stream *stream = ptl_stream_at(trace, i);

		if (stream->kind != PTL_KIND_EVENTS || !stream->first_time)
			continue;
		bytes += stream->bytes;
		first = stream->first_time < first ? stream->first_time : first;
		last = stream->last_time > last ? stream->last_time : last;
	}
	first = filter->first_time > first ? filter->first_time : first;
	last = filter->last_time < last ? filter->last_time : last;
	spans->count = (size_t)(bytes / SPAN_BYTES < SPANS_MAX ? bytes / SPAN_BYTES + 1 : SPANS_MAX);
	if (last <= first || last - first < spans->count)
		spans->count = 1;
	spans->start = first;
	spans->length = (last - first) / spans->count + 1;
}

static int process(struct walk *sum)
{
	struct spans spans = {.sum = sum};
	struct common_pipeline pipeline = {
		.threads = sum->calls->input.view.threads,
		.context = &spans,
		.work = walk_span,
		.finish = add_span,
	};
	int status;

	choose_spans(&spans);
	spans.walks = calloc(spans.count, sizeof(*spans.walks));
	if (!spans.walks)
		return common_fail_memory("stacks", spans.count * sizeof(*spans.walks));
	pipeline.count = spans.count;
	status = common_pipeline_run(&pipeline);
	for (size_t i = 0; i < spans.count; i++)
		close_walk(&spans.walks[i]);
	free(spans.walks);
	return status;
}

/* ---- choice of events ---------------------------------------------------------------------------- */

/* Appends the names of events with stacks, for a message. */
static int list_kinds(const struct analysis_sample_kinds *kinds, struct ptl_bytes *text)
{
	const int status = analysis_sample_kinds_text(kinds, text);

	if (status == 0 && !text->size)
		common_text_add(text, "none");
	return status;
}

static bool is_there(const struct analysis_sample_kinds *kinds, bool wanted, bool stacks)
{
	for (size_t i = 0; i < kinds->count; i++)
		if ((kinds->list[i].wanted || !wanted) && (kinds->list[i].events || !stacks))
			return true;
	return false;
}

/* Fails: no event matches the pattern, or several events are possible without a pattern. */
static int fail_unclear(const struct walk *walk, const char *pattern)
{
	const char *path = walk->calls->input.path;
	struct ptl_bytes text = {0};
	int status = list_kinds(&walk->kinds, &text);

	if (status < 0)
		;
	else if (!pattern)
		status = common_fail(PTL_MISUSE, "--samples: several events in %s have stacks: =EVENT chooses of %s",
				     path, common_text_string(&text));
	else if (is_there(&walk->kinds, true, false))
		status = common_fail(
			PTL_MISUSE,
			"--samples: the events called '%s' in %s have no stacks; 'ptl-record --stack' gives "
			"events stacks. There are those of: %s",
			pattern, path, common_text_string(&text));
	else
		status = common_fail(PTL_MISUSE, "--samples: no event in %s is called '%s'; those with stacks are: %s",
				     path, pattern, common_text_string(&text));
	common_bytes_free(&text);
	return status;
}

/*
 * Finds the only suitable event if the user gave no pattern. The caller frees *name. *name is NULL if no event has a
 * stack.
 */
static int choose_event(struct walk *walk, char **name)
{
	const struct analysis_sample_kind *chosen;
	int status = process(walk);

	*name = NULL;
	if (status < 0)
		return status;
	chosen = analysis_sample_kinds_choose(&walk->kinds);
	if (chosen)
		*name = strdup(chosen->name);
	if (chosen && !*name)
		return common_fail_memory("names of events", strlen(chosen->name));
	return chosen || !is_there(&walk->kinds, false, true) ? 0 : fail_unclear(walk, NULL);
}

/* ---- description of the samples ------------------------------------------------------------------ */

static bool is_clock(const char *name)
{
	return !strncmp(name, "cpu-clock", 9) || !strncmp(name, "task-clock", 10);
}

/* If several kinds have the same name, the first kind stands for all. */
static int describe_samples(const struct walk *walk, const char *pattern, struct analysis_samples *samples)
{
	const struct analysis_sample_kind *first = NULL;
	struct ptl_bytes name = {0};
	bool several = false;

	for (size_t i = 0; i < walk->kinds.count; i++) {
		const struct analysis_sample_kind *kind = &walk->kinds.list[i];

		if (!kind->wanted || !kind->events)
			continue;
		samples->count += kind->events;
		samples->missed += kind->without;
		several |= first && strcmp(first->name, kind->name) != 0;
		first = first ? first : kind;
	}
	common_text_safe(&name, several || !first ? pattern : first->name);
	samples->name = name.failed ? NULL : strdup(common_text_string(&name));
	common_bytes_free(&name);
	samples->cut = walk->fold.cut;
	samples->timed = first && !several && !walk->without_period;
	samples->in_time = samples->timed && is_clock(first->name);
	return samples->name ? 0 : common_fail_memory("names of events", name.size);
}

const char *analysis_samples_unit(const struct analysis_samples *samples)
{
	return !samples->timed ? "samples" : samples->in_time ? "ns" : samples->name;
}

static void add_amount(struct ptl_bytes *text, const struct analysis_samples *samples)
{
	if (!samples->timed)
		return;
	common_text_add(text, " (");
	if (samples->in_time)
		common_text_duration(text, samples->period);
	else
		common_text_count(text, samples->period);
	common_text_add(text, samples->in_time ? ")" : " counted)");
}

/* Prints a note with the event name and the sums: the user may not have named the event. */
static void note_sums(const struct analysis_samples *samples)
{
	struct ptl_bytes text = {0};

	common_text_count(&text, samples->count);
	common_text_format(&text, " %s of %s", samples->count == 1 ? "sample" : "samples", samples->name);
	add_amount(&text, samples);
	common_message_note("%s", common_text_string(&text));
	if (samples->missed)
		common_message_warning("%" PRIu64 " " COMMON_PLURAL("event", "events") " of that name " COMMON_PLURAL(
					       "has", "have") " no stack, and " COMMON_PLURAL("is", "are") " left out",
				       samples->missed);
	common_bytes_free(&text);
}

void analysis_samples_free(struct analysis_samples *samples)
{
	free(samples->name);
}

/* ---- the run ------------------------------------------------------------------------------------- */

static bool is_narrowed(const struct walk *walk)
{
	const struct analysis_filter *filter = walk->calls->input.filter;

	return walk->options->where || filter->pids.count || filter->tids.count || filter->cpus.count ||
	       common_time_span_given(&filter->span);
}

static int note_nothing(const struct walk *walk, const char *what, bool any)
{
	struct analysis_query query = {0};
	int status = 0;

	if (walk->options->where)
		status = analysis_query_add(&query, walk->options->where);
	if (status == 0 && walk->options->where) {
		common_message_note("no event is like that");
		analysis_query_note_fields(&query, walk->calls->input.trace);
	} else if (status == 0) {
		analysis_note_nothing(&walk->calls->input, what, any);
	}
	analysis_query_free(&query);
	return status;
}

static int add_up(struct walk *walk, const char *pattern, const struct analysis_call_observer *observer,
		  struct analysis_samples *samples)
{
	struct analysis_calls *calls = walk->calls;
	int status = process(walk);

	if (status < 0)
		return status;
	if (walk->failures)
		common_message_warning("--where has no value for events, which are left out: %" PRIu64, walk->failures);
	if (!is_there(&walk->kinds, true, true)) {
		if (!is_narrowed(walk))
			return fail_unclear(walk, pattern);
		return note_nothing(walk, "events", true);
	}
	status = describe_samples(walk, pattern, samples);
	for (size_t i = 0; i < walk->fold.count; i++)
		samples->period += walk->fold.nodes[i].period;
	if (status == 0)
		status = analysis_sample_fold_show(&walk->fold, calls->timeline, samples->timed, observer);
	if (status == 0) {
		note_sums(samples);
		analysis_note_lost_events(calls->input.trace);
	}
	return status;
}

int analysis_samples_run(struct analysis_calls *calls, const struct analysis_sample_options *options,
			 const struct analysis_call_observer *observer, struct analysis_samples *samples)
{
	const struct walk like = {
		.calls = calls,
		.options = options,
		.stacks = {.timeline = calls->timeline, .symbols = calls->symbols},
		.kinds = {.pattern = options->event},
	};
	struct walk sum = like;
	char *exact = NULL;
	int status = 0;

	if (calls->selection)
		return common_fail(PTL_MISUSE, "--samples and --calls exclude each other");
	if (!options->event) {
		status = choose_event(&sum, &exact);
		close_walk(&sum);
		sum = like;
		sum.kinds.exact = exact;
	}
	if (status == 0 && !options->event && !exact)
		status = note_nothing(&sum, "events with stacks", is_narrowed(&sum));
	else if (status == 0)
		status = add_up(&sum, options->event, observer, samples);
	close_walk(&sum);
	free(exact);
	return status;
}

int analysis_sample_options_check(const struct analysis_sample_options *options)
{
	struct analysis_query query = {0};
	int status;

	if (!options->where)
		return 0;
	if (!options->enabled)
		return common_fail(PTL_MISUSE, "--where needs --samples");
	status = analysis_query_add(&query, options->where);
	analysis_query_free(&query);
	return status < 0 ? common_fail_in(status, "--where") : 0;
}

/* ---- a trace without Intel PT -------------------------------------------------------------------- */

static int find_stack(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	(void)context;
	(void)trace;
	return analysis_has_stack(event);
}

void analysis_samples_hint(const struct analysis_calls *calls)
{
	struct ptl_trace *trace = calls->input.trace;
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = find_stack};
	const size_t count = ptl_stream_count(trace);

	for (size_t i = 0; i < count; i++)
		if (ptl_stream_at(trace, i)->kind == PTL_KIND_PT)
			return;
	if (ptl_process(trace, NULL, &callbacks, NULL) == 1)
		common_message_hint("--samples, which adds up the stacks of its events");
}
