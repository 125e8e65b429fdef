/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls view: the selection's calls as a tree, and the search for a function's slowest call. */
#include <stdlib.h>

#include "analysis/call/call_latency.h"
#include "analysis/call/call_mark.h"
#include "common/error.h"
#include "common/text/text.h"
#include "common/vector.h"
#include "dump/browse/browser.h"

#define DURATION_WIDTH 11
#define LEVELS_MAX 60 /* deeper levels are shown as a number */

/* ---- rows ---------------------------------------------------------------------------------------- */

static bool first(struct dump_browser *browser, uint64_t *row)
{
	return dump_browse_calls_first(&browser->calls, row);
}

static bool calls_view_next(struct dump_browser *browser, uint64_t *row)
{
	return dump_browse_calls_next(&browser->calls, row);
}

static bool previous(struct dump_browser *browser, uint64_t *row)
{
	return dump_browse_calls_previous(&browser->calls, row);
}

static void columns(struct dump_browser *browser, struct ptl_bytes *text)
{
	(void)browser;
	common_text_add(text, "       time ms    duration        self    instructions  calls  function");
}

static void add_thread(struct dump_browser *browser, const struct dump_browse_thread *thread, struct ptl_bytes *text)
{
	if (thread->cpu != PTL_NO_CPU && thread->tid == PTL_NO_ID)
		common_text_format(text, "cpu %u  ", thread->cpu);
	if (thread->pid == PTL_NO_ID)
		return;
	common_text_safe(text, thread->program ? common_base_name(thread->program->path)
			       : thread->process != FLOW_NONE
				       ? flow_timeline_process(browser->calls_input.timeline, thread->process)->name
				       : "process");
	common_text_format(text, " (%u)", thread->pid);
	if (thread->tid != PTL_NO_ID)
		common_text_format(text, "  thread %u", thread->tid);
}

static void add_duration(struct ptl_bytes *text, const struct analysis_call_record *record, uint64_t value)
{
	struct ptl_bytes words = {0};

	if (record->start)
		common_text_duration(&words, value);
	else
		common_text_add(&words, "-");
	common_text_pad(text, text->size, words.size < DURATION_WIDTH ? DURATION_WIDTH - words.size : 0);
	common_text_add(text, common_text_string(&words));
	common_text_add(text, " ");
	common_bytes_free(&words);
}

static void add_marks(const struct analysis_call_record *record, struct ptl_bytes *text)
{
	if (!(record->flags & ANALYSIS_CALL_SHOWN))
		return;
	common_text_add(text, "  [");
	analysis_call_marks_text(record->flags, ", ", text);
	common_text_add(text, "]");
}

static void add_call(struct dump_browser *browser, const struct dump_browse_place *place, struct ptl_bytes *text)
{
	const struct analysis_call_record *record = place->record;
	const struct analysis_function *function = analysis_function(browser->calls_input.functions, record->function);

	add_duration(text, record, record->wall);
	add_duration(text, record, record->self_time);
	common_text_decimal_right(text, record->instructions, 15);
	common_text_decimal_right(text, record->children, 7);
	common_text_pad(text, text->size, 2 * (place->level < LEVELS_MAX ? place->level : LEVELS_MAX));
	if (place->level > LEVELS_MAX)
		common_text_format(text, "[%zu] ", place->level);
	common_text_add(text, !place->has_children ? "  " : place->open ? "- " : "+ ");
	analysis_function_text(function, text);
	common_text_add(text, "  (");
	common_text_safe(text, function->image);
	common_text_add(text, ")");
	if (record->repeats > 1)
		common_text_format(text, "  x %llu", (unsigned long long)record->repeats);
	add_marks(record, text);
}

static void show_row(struct dump_browser *browser, uint64_t row, struct ptl_bytes *text, enum dump_browse_style *style)
{
	struct dump_browse_place place;

	dump_browse_calls_place(&browser->calls, row, &place);
	if (!place.record) {
		*style = DUMP_BROWSE_BOLD;
		common_text_add(text, place.open ? "- " : "+ ");
		add_thread(browser, place.thread, text);
		return;
	}
	common_text_time(text, place.record->start, ptl_trace_machine(browser->run->trace)->start_time);
	common_text_add(text, " ");
	if (place.record->kind == ANALYSIS_RECORD_CALL) {
		add_call(browser, &place, text);
	} else {
		*style = DUMP_BROWSE_DIM;
		common_text_format(text, " -- goes on on stack %u", place.record->stack);
	}
}

static uint32_t function_of(struct dump_browser *browser, uint64_t row)
{
	struct dump_browse_place place;

	dump_browse_calls_place(&browser->calls, row, &place);
	return place.record && place.record->kind == ANALYSIS_RECORD_CALL ? place.record->function
									  : ANALYSIS_NO_FUNCTION;
}

/* ---- search -------------------------------------------------------------------------------------- */

/* Caches which functions match the search. */
struct found {
	struct dump_browser *browser;
	uint8_t *known; /* by function: 1 no match, 2 match */
	size_t count;
};

static bool is_found(void *context, const struct analysis_call_record *record)
{
	struct found *found = context;
	const size_t at = record->function == ANALYSIS_NO_FUNCTION ? 0 : (size_t)record->function + 1;

	if (at >= found->count)
		return false;
	if (!found->known[at])
		found->known[at] = dump_browse_finds(found->browser, record->function) ? 2 : 1;
	return found->known[at] == 2;
}

static bool calls_view_search(struct dump_browser *browser, bool back, uint64_t *row)
{
	struct found found = {.browser = browser,
			      .count = analysis_functions_count(browser->calls_input.functions) + 1};
	bool is;

	found.known = calloc(found.count, sizeof(*found.known));
	is = found.known && dump_browse_calls_search(&browser->calls, row, back, is_found, &found);
	free(found.known);
	return is;
}

/* ---- reading ------------------------------------------------------------------------------------- */

struct taking {
	struct dump_browser *browser;
	struct analysis_call_tree tree;
};

static int take_thread(void *context, const struct analysis_call_tree *tree, const struct analysis_call_thread *thread)
{
	struct taking *taking = context;

	if (!tree->list.count && !tree->below.count)
		return 0;
	return dump_browse_calls_take(&taking->browser->calls, &taking->tree, thread);
}

static int read_calls(struct dump_browser *browser)
{
	struct taking taking = {.browser = browser, .tree = {.show = take_thread, .context = &taking}};
	struct analysis_call_observer observer = analysis_call_tree_observer;
	int status;

	dump_browse_calls_free(&browser->calls);
	observer.context = &taking.tree;
	status = dump_browse_decode(browser, &observer);
	analysis_call_tree_free(&taking.tree);
	if (status == 0 && browser->calls.count == 1)
		dump_browse_calls_open(&browser->calls, 0);
	return status;
}

/* ---- the slowest call ---------------------------------------------------------------------------- */

/*
 * The wanted call, for a search. alike: also accept a record that stands for several similar calls, among them the
 * wanted call.
 */
struct wanted {
	const struct analysis_latency_call *call;
	uint32_t function;
	bool timed, alike;
};

static bool is_call(void *context, const struct analysis_call_record *record)
{
	const struct wanted *wanted = context;
	const struct analysis_latency_call *call = wanted->call;

	if (record->function != wanted->function || (record->repeats > 1) != wanted->alike)
		return false;
	if (!wanted->alike)
		return wanted->timed ? record->start == call->start && record->wall == call->wall
				     : record->instructions == call->instructions;
	return wanted->timed ? record->start <= call->start && call->start <= record->start + record->wall
			     : record->instructions >= call->instructions;
}

static bool is_in_thread(const struct dump_browser *browser, uint64_t row, const struct analysis_latency_call *call)
{
	struct dump_browse_place place;

	dump_browse_calls_place(&browser->calls, row, &place);
	return place.thread->pid == call->pid && place.thread->tid == call->tid;
}

/* Finds the record of a call with equal values. Such calls are interchangeable. */
static bool find_call(struct dump_browser *browser, struct wanted *wanted, uint64_t *row)
{
	for (unsigned alike = 0; alike < 2; alike++) {
		wanted->alike = alike;
		*row = 0;
		while (dump_browse_calls_search(&browser->calls, row, false, is_call, wanted))
			if (is_in_thread(browser, *row, wanted->call))
				return true;
	}
	return false;
}

/*
 * Whether the record stands for repeated calls and spans the wanted call: the call lies inside one of the hidden
 * repetitions.
 */
static bool is_around(void *context, const struct analysis_call_record *record)
{
	const struct wanted *wanted = context;

	return record->repeats > 1 && record->start && record->start <= wanted->call->start &&
	       wanted->call->start <= record->start + record->wall;
}

/* Finds the innermost record around the call, which is the last match. */
static bool find_around(struct dump_browser *browser, struct wanted *wanted, uint64_t *row)
{
	uint64_t next = 0;
	bool found = false;

	while (wanted->timed && dump_browse_calls_search(&browser->calls, &next, false, is_around, wanted))
		if (is_in_thread(browser, next, wanted->call)) {
			*row = next;
			found = true;
		}
	return found;
}

/* Moves to the wanted call and describes its row. */
static void show_call(struct dump_browser *browser, struct wanted *wanted)
{
	struct ptl_bytes *text = &browser->message;
	const char *what = " the slowest call: ";
	uint64_t row = 0;

	if (find_call(browser, wanted, &row))
		what = wanted->alike ? " the slowest call is one of these: " : what;
	else if (find_around(browser, wanted, &row))
		what = " the slowest call is in one of these: ";
	else
		what = " the slowest call is in one of several that are shown as one line: ";
	if (row)
		browser->positions[DUMP_BROWSE_CALLS].cursor = row;
	text->size = 0;
	common_text_add(text, what);
	if (wanted->timed)
		common_text_duration(text, wanted->call->wall);
	else
		common_text_count(text, wanted->call->instructions);
	common_text_add(text, wanted->timed ? "" : " instructions");
}

/* Measures the calls of one function. */
static int measure_calls(struct dump_browser *browser, uint32_t function, bool timed, struct analysis_latency *latency)
{
	struct analysis_call_observer observer = analysis_latency_observer;
	int status;

	/* An empty pattern matches no name, so only the preset entry of `known` matches. */
	latency->matches = (struct analysis_matches){.calls = &browser->calls_input, .pattern = ""};
	latency->by_instructions = !timed;
	latency->slowest_max = 1;
	status = COMMON_VECTOR_RESERVE(latency->matches.known, latency->matches.capacity,
				       analysis_functions_count(browser->calls_input.functions) + 2, "functions");
	if (status < 0)
		return status;
	for (size_t i = 0; i < latency->matches.capacity; i++)
		latency->matches.known[i] = 1;
	latency->matches.known[function == ANALYSIS_NO_FUNCTION ? 0 : (size_t)function + 1] = 2;
	observer.context = latency;
	status = dump_browse_decode(browser, &observer);
	analysis_latency_finish(latency);
	return status;
}

int dump_browse_go_to_slowest(struct dump_browser *browser, uint32_t function)
{
	struct analysis_latency latency = {0};
	struct wanted wanted = {.function = function, .timed = browser->report.timed};
	int status = dump_browse_open(browser, DUMP_BROWSE_CALLS);

	if (status == 0)
		status = measure_calls(browser, function, wanted.timed, &latency);
	if (status == 0 && !latency.slowest_count && wanted.timed) {
		analysis_latency_free(&latency);
		latency = (struct analysis_latency){0};
		wanted.timed = false;
		status = measure_calls(browser, function, false, &latency);
	}
	if (status == 0 && latency.slowest_count) {
		wanted.call = &latency.slowest[0];
		show_call(browser, &wanted);
	} else if (status == 0) {
		dump_browse_say(browser, " no call of it ended: there is no slowest one");
	}
	analysis_latency_free(&latency);
	return status;
}

/* ---- keys ---------------------------------------------------------------------------------------- */

static int key(struct dump_browser *browser, int key)
{
	struct dump_browse_position *position = &browser->positions[DUMP_BROWSE_CALLS];
	struct dump_browse_place place;

	if (!browser->calls.count)
		return 0;
	dump_browse_calls_place(&browser->calls, position->cursor, &place);
	switch (key) {
	case DUMP_BROWSE_ENTER:
		if (place.open)
			dump_browse_calls_close(&browser->calls, position->cursor);
		else
			dump_browse_calls_open(&browser->calls, position->cursor);
		break;
	case DUMP_BROWSE_RIGHT:
		dump_browse_calls_open(&browser->calls, position->cursor);
		break;
	case DUMP_BROWSE_LEFT:
		if (place.open && place.has_children && (!place.record || place.level))
			dump_browse_calls_close(&browser->calls, position->cursor);
		else
			(void)dump_browse_calls_parent(&browser->calls, &position->cursor);
		break;
	case 'h':
		if (!dump_browse_calls_costliest(&browser->calls, &position->cursor))
			dump_browse_say(browser, " it made no calls");
		break;
	default:
		break;
	}
	return 0;
}

const struct dump_browse_view dump_browse_calls_view = {
	.name = "calls",
	.keys = "arrows open and close   h costliest   r report   t threads",
	.read = read_calls,
	.first = first,
	.next = calls_view_next,
	.previous = previous,
	.columns = columns,
	.row = show_row,
	.function = function_of,
	.search = calls_view_search,
	.key = key,
};
