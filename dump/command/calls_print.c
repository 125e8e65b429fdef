/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints call trees. */
#include "dump/command/calls_print.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/text.h"

#define FLUSH ((size_t)64 << 10)

struct dump_shown_name {
	char *text;             /* NULL: not formatted yet; owned */
	const char *with_image; /* name with image, after `text`; not zero-terminated */
	const char *image;
	char *json; /* JSON members of the function, with braces; NULL: not formatted yet; owned */
	size_t json_size;
	uint32_t size, size_with_image;
	bool wanted;   /* selected by --image */
	bool function; /* matches --function; likewise the members below */
	bool from;
	bool until;
};

/* The current call at a level of the tree. */
struct dump_shown_level {
	size_t shown; /* visible calls up to and including this call */
	const char *image;
	bool visible;
};

/* A walk over the records of a tree. */
struct pass {
	struct dump_calls_print *print;
	const struct analysis_call_tree *tree;
	const struct analysis_call_thread *thread;
	size_t open;   /* current number of levels */
	size_t inside; /* --function: level of the call whose subtree is shown, from 1; 0: none */
	size_t root;   /* visible calls above `inside` */
	bool started;  /* the function of --from has run */
	bool ended;
	bool headed;
};

/* ---- names --------------------------------------------------------------------------------------- */

static __attribute__((noinline)) bool make_name_room(struct dump_calls_print *print, size_t at)
{
	const size_t count = at + at / 2 + 64;
	struct dump_shown_name *names = realloc(print->names, count * sizeof(*names));

	if (!names)
		return false;
	memset(names + print->name_count, 0, (count - print->name_count) * sizeof(*names));
	print->names = names;
	print->name_count = count;
	return true;
}

static __attribute__((noinline)) bool make_name(const struct dump_calls_print *print, uint32_t function,
						struct dump_shown_name *name)
{
	const struct dump_run *run = print->line.run;
	const struct analysis_function *data = analysis_function(print->calls->functions, function);
	struct ptl_bytes text = {0};

	analysis_function_text(data, &text);
	name->size = (uint32_t)text.size;
	common_write_bytes(&text, "", 1);
	analysis_function_text(data, &text);
	common_text_add(&text, dump_dim(run));
	common_text_add(&text, "  (");
	common_text_safe(&text, data->image);
	common_text_add(&text, ")");
	common_text_add(&text, dump_plain(run));
	name->size_with_image = (uint32_t)text.size - name->size - 1;
	common_text_pad(&text, text.size, DUMP_CALLS_LINE_SLACK);
	if (text.failed) {
		common_bytes_free(&text);
		return false;
	}
	name->text = (char *)text.data;
	name->with_image = name->text + name->size + 1;
	name->image = data->image;
	name->wanted = analysis_filter_wants_image(&run->options->filter, data->path);
	name->function = print->function && analysis_function_matches(data, print->function);
	name->from = print->from && analysis_function_matches(data, print->from);
	name->until = print->until && analysis_function_matches(data, print->until);
	return true;
}

/* Returns the displayed name. Returns NULL without memory. */
static inline struct dump_shown_name *function_name_of(struct dump_calls_print *print, uint32_t function)
{
	const size_t at = function == ANALYSIS_NO_FUNCTION ? 0 : (size_t)function + 1;

	if (at >= print->name_count && !make_name_room(print, at))
		return NULL;
	return print->names[at].text || make_name(print, function, &print->names[at]) ? &print->names[at] : NULL;
}

void dump_calls_print_free(struct dump_calls_print *print)
{
	for (size_t i = 0; i < print->name_count; i++) {
		free(print->names[i].text);
		free(print->names[i].json);
	}
	free(print->names);
	free(print->levels);
	common_bytes_free(&print->text);
}

/* ---- text ---------------------------------------------------------------------------------------- */

static __attribute__((noinline)) void write_heading(struct pass *pass)
{
	const struct dump_calls_print *print = pass->print;
	const struct dump_run *run = print->line.run;
	const struct analysis_call_thread *thread = pass->thread;
	struct ptl_bytes *text = &pass->print->text;

	if (print->any)
		common_text_add(text, "\n");
	common_text_add(text, dump_bold(run));
	if (thread->cpu != PTL_NO_CPU && thread->tid == PTL_NO_ID)
		common_text_format(text, "cpu %u  ", thread->cpu);
	if (thread->pid != PTL_NO_ID) {
		const char *name = dump_calls_program(print->calls, thread);

		common_text_safe(text, *name ? name : "process");
		common_text_format(text, " (%u)", thread->pid);
		if (thread->tid != PTL_NO_ID)
			common_text_format(text, "  thread %u", thread->tid);
	}
	common_text_add(text, dump_plain(run));
	common_text_add(text, "\n");
	common_text_add(text, dump_dim(run));
	common_text_add(text, pass->print->line.is_narrow ? dump_calls_narrow_head : dump_calls_line_head);
	common_text_add(text, dump_plain(run));
	common_text_add(text, "\n");
	pass->headed = true;
	pass->print->any = true;
}

static inline void calls_heading(struct pass *pass)
{
	if (!pass->headed && !pass->print->line.run->options->json)
		write_heading(pass);
}

static void text_stack(struct pass *pass, const struct analysis_call_record *record)
{
	const struct dump_run *run = pass->print->line.run;
	struct ptl_bytes *text = &pass->print->text;

	common_text_time(text, record->start, ptl_trace_machine(run->trace)->start_time);
	common_text_add(text, "  ");
	common_text_add(text, dump_dim(run));
	common_text_format(text, "-- goes on on stack %u", record->stack);
	common_text_add(text, dump_plain(run));
	common_text_add(text, "\n");
}

/* Appends lines of events, indented to their level. */
static void text_event(struct pass *pass, const struct analysis_call_record *record, size_t level)
{
	struct ptl_bytes *text = &pass->print->text;
	const uint8_t *line = record->lines, *end = record->lines + record->function;

	while (line < end) {
		const uint8_t *newline = memchr(line, '\n', (size_t)(end - line));
		const size_t size = newline ? (size_t)(newline - line) + 1 : (size_t)(end - line);
		const size_t time = size < DUMP_CALLS_TIME_WIDTH ? size : DUMP_CALLS_TIME_WIDTH;

		common_write_bytes(text, line, time);
		common_text_pad(text, text->size,
				pass->print->line.is_narrow ? DUMP_CALLS_NARROW_WIDTH : DUMP_CALLS_COLUMNS_WIDTH);
		dump_calls_line_indent(text, level);
		common_write_bytes(text, line + time, size - time);
		line += size;
	}
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static void json_ids(struct common_json *json, const struct analysis_call_thread *thread)
{
	if (thread->pid != PTL_NO_ID)
		common_json_u64(json, "pid", thread->pid);
	else
		common_json_null(json, "pid");
	if (thread->tid != PTL_NO_ID)
		common_json_u64(json, "tid", thread->tid);
	else
		common_json_null(json, "tid");
	if (thread->tid == PTL_NO_ID && thread->cpu != PTL_NO_CPU)
		common_json_u64(json, "cpu", thread->cpu);
}

/* Formats the JSON members. Returns false without memory. */
static __attribute__((noinline)) bool make_json(const struct analysis_function *function, struct dump_shown_name *name)
{
	FILE *file = open_memstream(&name->json, &name->json_size);
	struct common_json json;

	if (!file)
		return false;
	common_json_start(&json, file);
	common_json_object(&json, NULL);
	analysis_function_json(&json, function);
	common_json_object_end(&json);
	return fclose(file) == 0;
}

static void json_call(struct pass *pass, const struct analysis_call_record *record, struct dump_shown_name *name,
		      size_t level)
{
	struct dump_run *run = pass->print->line.run;
	struct common_json *json = &run->json_out;

	if (!name->json && !make_json(analysis_function(pass->print->calls->functions, record->function), name)) {
		pass->print->text.failed = true;
		return;
	}
	common_json_object(json, NULL);
	common_json_string(json, "type", "call");
	json_ids(json, pass->thread);
	common_json_u64(json, "depth", level);
	common_json_raw(json, NULL, name->json + 1, name->json_size - 2);
	dump_json_time(run, "time", record->start);
	if (record->start) {
		common_json_u64(json, "duration", record->wall);
		common_json_u64(json, "self", record->self_time);
	}
	common_json_u64(json, "instructions", record->instructions);
	common_json_u64(json, "self_instructions", record->self_instructions);
	common_json_u64(json, "calls", record->children);
	common_json_u64(json, "repeats", record->repeats);
	if (record->stack)
		common_json_u64(json, "stack", record->stack);
	common_json_array(json, "marks");
	for (size_t i = 0; i < ANALYSIS_CALL_MARKS; i++)
		if (record->flags & analysis_call_marks[i].flag)
			common_json_string(json, NULL, analysis_call_marks[i].word);
	common_json_array_end(json);
	common_json_object_end(json);
	common_json_line(json);
}

static void json_stack(struct pass *pass, const struct analysis_call_record *record)
{
	struct dump_run *run = pass->print->line.run;
	struct common_json *json = &run->json_out;

	common_json_object(json, NULL);
	common_json_string(json, "type", "stack");
	json_ids(json, pass->thread);
	dump_json_time(run, "time", record->start);
	common_json_u64(json, "stack", record->stack);
	common_json_object_end(json);
	common_json_line(json);
}

/* ---- selection ----------------------------------------------------------------------------------- */

static __attribute__((noinline)) bool make_level(struct dump_calls_print *print, size_t level)
{
	const size_t count = level + level / 2 + 64;
	struct dump_shown_level *levels = realloc(print->levels, count * sizeof(*levels));

	if (!levels)
		return false;
	memset(levels + print->level_count, 0, (count - print->level_count) * sizeof(*levels));
	print->levels = levels;
	print->level_count = count;
	return true;
}

static inline struct dump_shown_level *level_at(struct dump_calls_print *print, size_t level)
{
	return level < print->level_count || make_level(print, level) ? &print->levels[level] : NULL;
}

/* Returns the image of the nearest visible call above a level; NULL: none. */
static const char *image_above(const struct dump_calls_print *print, size_t level)
{
	while (level-- > 0)
		if (print->levels[level].visible)
			return print->levels[level].image;
	return NULL;
}

bool dump_calls_print_selects(struct dump_calls_print *print, uint32_t function)
{
	const struct dump_shown_name *name = function_name_of(print, function);

	return name && (name->function || name->from || name->until ||
			(print->line.run->options->filter.images.count && name->wanted));
}

static void put_call(struct pass *pass, const struct analysis_call_record *record, struct dump_shown_name *name,
		     size_t shown, const char *image)
{
	struct dump_calls_print *print = pass->print;
	const bool with_image = name->image != image && (!image || strcmp(name->image, image) != 0);

	if (print->max_depth && shown >= print->max_depth)
		return;
	calls_heading(pass);
	print->shown = true;
	if (print->line.run->options->json)
		json_call(pass, record, name, shown);
	else if (with_image)
		dump_calls_line_add(&print->line, record, name->with_image, name->size_with_image, shown, &print->text);
	else
		dump_calls_line_add(&print->line, record, name->text, name->size, shown, &print->text);
}

static bool is_asked_for(struct pass *pass, const struct analysis_call_record *record,
			 const struct dump_shown_name *name, size_t level)
{
	struct query_row_asker *where = pass->print->where;
	struct dump_calls_row *row;

	if (!where)
		return true;
	row = where->context;
	row->thread = pass->thread;
	row->record = record;
	row->name = name->text;
	row->level = level;
	return query_row_matches(where);
}

/* Whether the call is selected by name and condition. */
static bool is_visible(struct pass *pass, const struct analysis_call_record *record, const struct dump_shown_name *name,
		       size_t level, size_t above)
{
	const struct dump_calls_print *print = pass->print;

	if (pass->inside && level < pass->inside)
		pass->inside = 0;
	if (print->function && !pass->inside) {
		if (!name->function)
			return false;
		pass->inside = level + 1;
		pass->root = above;
	}
	return name->wanted && !record->hidden && is_asked_for(pass, record, name, level);
}

/* Handles a call. quiet: the call precedes the selected part, and only leads to it. */
static int take_call(struct pass *pass, const struct analysis_call_record *record, bool quiet)
{
	struct dump_calls_print *print = pass->print;
	const size_t level = analysis_record_level(pass->tree, record);
	struct dump_shown_level *place = level_at(print, level);
	struct dump_shown_name *name = function_name_of(print, record->function);
	size_t above;

	if (!place || !name)
		return common_fail_memory("calls", 0);
	above = level ? print->levels[level - 1].shown : 0;
	if (print->from && name->from)
		pass->started = true;
	print->until_ran |= name->until;
	if (print->until && name->until && pass->started)
		pass->ended = true;
	place->image = name->image;
	place->visible = !pass->ended && is_visible(pass, record, name, level, above);
	place->shown = above + place->visible;
	if (place->visible && !quiet && pass->started)
		put_call(pass, record, name, above - (print->function ? pass->root : 0), image_above(print, level));
	return 0;
}

static int take_other_record(struct pass *pass, const struct analysis_call_record *record)
{
	struct dump_calls_print *print = pass->print;
	const bool json = print->line.run->options->json;
	const size_t level = record->kind == ANALYSIS_RECORD_EVENT ? analysis_record_level(pass->tree, record) : 0;
	const size_t shown = level && level <= print->level_count ? print->levels[level - 1].shown : 0;

	if (!pass->started || pass->ended || (print->function && (!pass->inside || level < pass->inside)))
		return 0;
	/* If --where selects single calls, the stack is a field instead. */
	if (print->where && record->kind == ANALYSIS_RECORD_STACK)
		return 0;
	calls_heading(pass);
	if (record->kind == ANALYSIS_RECORD_STACK)
		(json ? json_stack : text_stack)(pass, record);
	else if (json)
		common_write_bytes(&print->text, record->lines, record->function);
	else
		text_event(pass, record, shown - (print->function && shown > pass->root ? pass->root : 0));
	return 0;
}

static int flush_pass(struct pass *pass, size_t least)
{
	struct dump_calls_print *print = pass->print;

	if (print->text.failed)
		return common_fail_memory("lines", print->text.size);
	if (print->text.size < least)
		return 0;
	common_text_write(&print->text, print->line.run->out);
	print->text.size = 0;
	return dump_output_check(print->line.run);
}

/*
 * Handles frames of the stack that were found after their callees. Frames of other stacks follow with the first calls
 * on these stacks.
 */
static int take_belows(struct pass *pass, uint32_t stack, bool quiet)
{
	const struct analysis_record_list *below = &pass->tree->below;
	int status = 0;

	for (size_t i = below->count; status == 0 && i-- > 0;)
		if (below->records[i].stack == stack)
			status = take_call(pass, &below->records[i], quiet);
	return status;
}

static int print_records(struct pass *pass)
{
	const struct analysis_record_list *list = &pass->tree->list;
	const uint64_t tail = pass->print->tail;
	const size_t first = tail && tail < list->count ? list->count - (size_t)tail : 0;
	uint32_t stacks = 1; /* number of stacks whose outermost frames were shown */
	struct analysis_record_reader reader = {.list = list};
	const struct analysis_call_record *record;
	int status = take_belows(pass, 0, false);

	for (size_t i = 0; status == 0 && !pass->ended && (record = analysis_record_next(&reader)) != NULL; i++) {
		if (record->kind == ANALYSIS_RECORD_CALL)
			status = take_call(pass, record, i < first && record->end <= first);
		else if (i >= first)
			status = take_other_record(pass, record);
		if (status == 0 && record->kind == ANALYSIS_RECORD_STACK && record->stack >= stacks) {
			stacks = record->stack + 1;
			status = take_belows(pass, record->stack, false);
		}
		if (status == 0)
			status = flush_pass(pass, FLUSH);
	}
	return status;
}

int dump_calls_print(struct dump_calls_print *print, const struct analysis_call_tree *tree,
		     const struct analysis_call_thread *thread)
{
	struct pass pass = {
		.print = print,
		.tree = tree,
		.thread = thread,
		.started = !print->from,
	};
	int status;

	if (!tree->list.count && !tree->below.count)
		return 0;
	status = print_records(&pass);
	return status == 0 ? flush_pass(&pass, 1) : status;
}
