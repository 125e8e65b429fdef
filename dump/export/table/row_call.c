/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of calls: calls, functions, and the profile by function. */
#include "analysis/call/call_mark.h"
#include "analysis/call/call_report.h"
#include "analysis/call/call_selection.h"
#include "analysis/call/call_tree.h"
#include "common/text/text.h"
#include "common/vector.h"
#include "dump/export/table/row.h"

#define CHECK_EVERY 1024

/* ---- functions ----------------------------------------------------------------------------------- */

/* Sets the value to the function's name; without a name, to the text that displays show, an address. */
static void function_name(struct dump_row *row, struct dump_row_value *value, const struct analysis_function *function)
{
	const size_t start = row->scratch.size;

	if (*function->name) {
		dump_row_text(value, function->name);
		return;
	}
	analysis_function_text(function, &row->scratch);
	dump_row_scratch(row, value, start);
}

/* ---- calls --------------------------------------------------------------------------------------- */

struct call {
	const struct analysis_call_record *record;
	const struct analysis_call_thread *thread;
	const struct analysis_function *function;
	size_t level;
	uint32_t symbol;
};

static const struct call *call_of(const struct dump_row *row)
{
	return row->item;
}

static void get_pid(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_id(value, call_of(row)->thread->pid);
}

static void get_tid(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_id(value, call_of(row)->thread->tid);
}

static void get_cpu(struct dump_row *row, struct dump_row_value *value)
{
	const struct analysis_call_thread *thread = call_of(row)->thread;

	dump_row_id(value, thread->tid == PTL_NO_ID ? thread->cpu : PTL_NO_ID);
}

static void get_depth(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, call_of(row)->level);
}

static void get_symbol(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, call_of(row)->symbol);
}

static void get_function(struct dump_row *row, struct dump_row_value *value)
{
	function_name(row, value, call_of(row)->function);
}

static void get_image(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_text(value, call_of(row)->function->path);
}

static void get_build_id(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_build_id_of(row, value, call_of(row)->function->path);
}

static void get_address(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, call_of(row)->function->address);
}

static void get_time(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_time(row, value, call_of(row)->record->start);
}

static void get_wall(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_wall(row, value, call_of(row)->record->start);
}

static void get_duration(struct dump_row *row, struct dump_row_value *value)
{
	value->is_null = !call_of(row)->record->start;
	value->number = call_of(row)->record->wall;
}

static void get_self(struct dump_row *row, struct dump_row_value *value)
{
	value->is_null = !call_of(row)->record->start;
	value->number = call_of(row)->record->self_time;
}

static void get_instructions(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, call_of(row)->record->instructions);
}

static void get_self_instructions(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, call_of(row)->record->self_instructions);
}

static void get_calls(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, call_of(row)->record->children);
}

static void get_stack(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, call_of(row)->record->stack);
}

/* Sets the value to "tail-call,unwound". */
static void get_marks(struct dump_row *row, struct dump_row_value *value)
{
	const size_t start = row->scratch.size;

	analysis_call_marks_text(call_of(row)->record->flags, ",", &row->scratch);
	dump_row_scratch(row, value, start);
}

static const struct dump_row_column call_columns[] = {
	{"pid", DUMP_ROW_UNSIGNED, true, 0, get_pid},
	{"tid", DUMP_ROW_UNSIGNED, true, 0, get_tid},
	{"cpu", DUMP_ROW_UNSIGNED, true, 0, get_cpu},
	{"depth", DUMP_ROW_UNSIGNED, false, 0, get_depth},
	{"symbol", DUMP_ROW_UNSIGNED, false, DUMP_ROW_NOT_FLAT, get_symbol},
	{"function", DUMP_ROW_TEXT, false, DUMP_ROW_NOT_DATABASE, get_function},
	{"image", DUMP_ROW_TEXT, false, DUMP_ROW_NOT_DATABASE, get_image},
	{"build_id", DUMP_ROW_TEXT, true, DUMP_ROW_NOT_DATABASE, get_build_id},
	{"address", DUMP_ROW_ADDRESS, false, DUMP_ROW_NOT_DATABASE, get_address},
	{"time", DUMP_ROW_SIGNED, true, 0, get_time},
	{"duration", DUMP_ROW_UNSIGNED, true, 0, get_duration},
	{"self", DUMP_ROW_UNSIGNED, true, 0, get_self},
	{"instructions", DUMP_ROW_UNSIGNED, false, 0, get_instructions},
	{"self_instructions", DUMP_ROW_UNSIGNED, false, 0, get_self_instructions},
	{"calls", DUMP_ROW_UNSIGNED, false, 0, get_calls},
	{"stack", DUMP_ROW_UNSIGNED, false, 0, get_stack},
	{"marks", DUMP_ROW_TEXT, false, 0, get_marks},
	{"wall_time", DUMP_ROW_WALL, true, DUMP_ROW_NOT_DATABASE, get_wall},
};

static int find_symbol(struct dump_row_symbols *symbols, uint32_t function, uint32_t *symbol)
{
	const uint64_t *known = common_hash_map_get(&symbols->numbers, function);

	*symbol = known ? (uint32_t)*known : (uint32_t)symbols->count;
	if (known)
		return 0;
	if (!common_vector_room(&symbols->functions, symbols->count, sizeof(*symbols->functions)))
		return common_fail_memory("symbols", symbols->count * sizeof(*symbols->functions));
	symbols->functions[symbols->count++] = function;
	return common_hash_map_put(&symbols->numbers, function, *symbol);
}

static int write_call(struct dump_row_writer *writer, const struct analysis_call_tree *tree,
		      const struct analysis_call_record *record, const struct analysis_call_thread *thread)
{
	struct dump_row_trace *trace = writer->trace;
	struct call call = {.record = record,
			    .thread = thread,
			    .function = analysis_function(trace->calls->functions, record->function),
			    .level = analysis_record_level(tree, record)};
	int status = 0;

	if (!analysis_filter_wants_image(&trace->run->options->filter, call.function->path))
		return 0;
	status = find_symbol(&trace->symbols, record->function, &call.symbol);
	return status ? status : dump_row_write(writer, &call);
}

/*
 * Writes frames of the stack that were found after their callees. Frames of other stacks follow with the first calls on
 * these stacks.
 */
static int write_belows(struct dump_row_writer *writer, const struct analysis_call_tree *tree, uint32_t stack,
			const struct analysis_call_thread *thread)
{
	int status = 0;

	for (size_t i = tree->below.count; status == 0 && i-- > 0;)
		if (tree->below.records[i].stack == stack)
			status = write_call(writer, tree, &tree->below.records[i], thread);
	return status;
}

/* Writes the calls of a thread in the order of ptl-dump calls. */
static int write_thread(void *context, const struct analysis_call_tree *tree, const struct analysis_call_thread *thread)
{
	struct dump_row_writer *writer = context;
	uint32_t stacks = 1; /* number of stacks whose outermost frames were written */
	struct analysis_record_reader reader = {.list = &tree->list};
	const struct analysis_call_record *record;
	int status = write_belows(writer, tree, 0, thread);

	while (status == 0 && (record = analysis_record_next(&reader)) != NULL) {
		if (record->kind == ANALYSIS_RECORD_CALL)
			status = write_call(writer, tree, record, thread);
		if (status == 0 && record->kind == ANALYSIS_RECORD_STACK && record->stack >= stacks) {
			stacks = record->stack + 1;
			status = write_belows(writer, tree, record->stack, thread);
		}
		if (status == 0 && reader.index % CHECK_EVERY == 0)
			status = dump_output_check(writer->row.trace->run);
	}
	return status;
}

static int call_rows(struct dump_row_writer *writer, struct dump_row_trace *trace)
{
	struct analysis_call_tree tree = {.no_folding = true, .show = write_thread, .context = writer};
	struct analysis_call_observer observer = analysis_call_tree_observer;
	int status;

	observer.context = &tree;
	status = analysis_calls_observe(trace->calls, &observer);
	analysis_call_tree_free(&tree);
	return status;
}

const struct dump_row_table dump_row_calls = {
	"calls", call_columns, sizeof(call_columns) / sizeof(call_columns[0]), "symbol", true, call_rows, "function"};

/* ---- symbols: functions of the calls written before ---------------------------------------------- */

static const struct analysis_function *symbol_of(const struct dump_row *row)
{
	const uint32_t symbol = *(const uint32_t *)row->item;

	return analysis_function(row->trace->calls->functions, row->trace->symbols.functions[symbol]);
}

static void get_symbol_number(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, *(const uint32_t *)row->item);
}

static void get_symbol_function(struct dump_row *row, struct dump_row_value *value)
{
	function_name(row, value, symbol_of(row));
}

static void get_symbol_image(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_text(value, symbol_of(row)->path);
}

static void get_symbol_build_id(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_build_id_of(row, value, symbol_of(row)->path);
}

static void get_symbol_address(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, symbol_of(row)->address);
}

static const struct dump_row_column symbol_columns[] = {
	{"symbol", DUMP_ROW_UNSIGNED, false, 0, get_symbol_number},
	{"function", DUMP_ROW_TEXT, false, 0, get_symbol_function},
	{"image", DUMP_ROW_TEXT, false, 0, get_symbol_image},
	{"build_id", DUMP_ROW_TEXT, true, 0, get_symbol_build_id},
	{"address", DUMP_ROW_ADDRESS, false, 0, get_symbol_address},
};

static int symbol_rows(struct dump_row_writer *writer, struct dump_row_trace *trace)
{
	int status = 0;

	for (uint32_t i = 0; status == 0 && i < trace->symbols.count; i++)
		status = dump_row_write(writer, &i);
	return status;
}

const struct dump_row_table dump_row_symbols = {
	"symbols", symbol_columns, sizeof(symbol_columns) / sizeof(symbol_columns[0]), "symbol", true, symbol_rows};

/* ---- profile: sums by function ------------------------------------------------------------------- */

static const struct analysis_report_row *report_row(const struct dump_row *row)
{
	return row->item;
}

static const struct analysis_function *reported(const struct dump_row *row)
{
	return analysis_function(row->trace->calls->functions, report_row(row)->function);
}

static void get_profile_function(struct dump_row *row, struct dump_row_value *value)
{
	function_name(row, value, reported(row));
}

static void get_profile_image(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_text(value, reported(row)->path);
}

static void get_profile_build_id(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_build_id_of(row, value, reported(row)->path);
}

static void get_profile_address(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, reported(row)->address);
}

static void get_profile_calls(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, report_row(row)->calls);
}

static void get_total_instructions(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, report_row(row)->total_instructions);
}

static void get_profile_self_instructions(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, report_row(row)->self_instructions);
}

static void get_total_time(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, report_row(row)->total_time);
}

static void get_self_time(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, report_row(row)->self_time);
}

static const struct dump_row_column profile_columns[] = {
	{"function", DUMP_ROW_TEXT, false, 0, get_profile_function},
	{"image", DUMP_ROW_TEXT, false, 0, get_profile_image},
	{"build_id", DUMP_ROW_TEXT, true, 0, get_profile_build_id},
	{"address", DUMP_ROW_ADDRESS, false, 0, get_profile_address},
	{"calls", DUMP_ROW_UNSIGNED, false, 0, get_profile_calls},
	{"total_instructions", DUMP_ROW_UNSIGNED, false, 0, get_total_instructions},
	{"self_instructions", DUMP_ROW_UNSIGNED, false, 0, get_profile_self_instructions},
	{"total_time", DUMP_ROW_UNSIGNED, false, 0, get_total_time},
	{"self_time", DUMP_ROW_UNSIGNED, false, 0, get_self_time},
};

static int profile_rows(struct dump_row_writer *writer, struct dump_row_trace *trace)
{
	struct analysis_report report = {.by = ANALYSIS_REPORT_FUNCTION, .calls = trace->calls};
	const struct analysis_call_observer observer = analysis_report_observer_of(&report);
	int status;

	status = analysis_calls_observe(trace->calls, &observer);
	if (status == 0)
		analysis_report_sort(&report, 0);
	for (size_t i = 0; status == 0 && i < report.count; i++)
		if (analysis_filter_wants_image(&trace->run->options->filter, report.rows[i].image))
			status = dump_row_write(writer, &report.rows[i]);
	analysis_report_free(&report);
	return status;
}

const struct dump_row_table dump_row_profile = {
	"profile", profile_columns, sizeof(profile_columns) / sizeof(profile_columns[0]), "function",
	true,      profile_rows};
