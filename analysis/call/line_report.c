/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts instructions by source line or source function: counts blocks, and looks up each of their instructions once.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/call/call_report.h"
#include "analysis/profile/profile.h"
#include "common/error.h"
#include "common/text/text.h"
#include "common/vector.h"

/* ---- rows ---------------------------------------------------------------------------------------- */

/* Key of a row; unused texts are "". */
struct row_key {
	const char *name; /* becomes the row's name */
	const char *file; /* file of a function */
	const char *image;
	uint32_t line;
};

static void write_key(const struct row_key *key, struct ptl_bytes *bytes)
{
	common_write_bytes(bytes, key->name, strlen(key->name) + 1);
	common_write_bytes(bytes, key->file, strlen(key->file) + 1);
	common_write_bytes(bytes, key->image, strlen(key->image) + 1);
	common_write_le(bytes, key->line, 4);
}

static int find_row(struct analysis_report *report, const struct row_key *key, uint32_t *number)
{
	struct ptl_bytes bytes = {0};
	const uint64_t *known;
	int status = 0;

	write_key(key, &bytes);
	known = bytes.failed ? NULL : common_byte_map_get(&report->by_name, bytes.data, bytes.size);
	if (known) {
		*number = (uint32_t)*known;
	} else if (bytes.failed ||
		   COMMON_VECTOR_RESERVE(report->rows, report->capacity, report->count + 1, "lines") < 0) {
		status = common_fail_memory("lines", bytes.size);
	} else {
		struct analysis_report_row *row = &report->rows[report->count];

		*row = (struct analysis_report_row){
			.function = ANALYSIS_NO_FUNCTION, .process = FLOW_NONE, .line = key->line};
		row->name = strdup(key->name);
		row->file = key->file;
		row->image = report->by == ANALYSIS_REPORT_INLINE ? key->image : NULL;
		*number = (uint32_t)report->count++;
		status = row->name ? common_byte_map_put(&report->by_name, bytes.data, bytes.size, *number)
				   : common_fail_memory("lines", strlen(key->name));
	}
	common_bytes_free(&bytes);
	return status;
}

/* The block being counted. */
struct counting {
	struct analysis_report *report;
	const struct analysis_profile_block *block;
	const struct flow_timeline_image *image; /* NULL: no image */
	struct ptl_bytes name;
};

/* ---- lines --------------------------------------------------------------------------------------- */

static int add_line(struct counting *counting, uint64_t address)
{
	struct analysis_report *report = counting->report;
	struct row_key key = {"[no line]", "", "", 0};
	uint32_t number;
	int status;

	if (counting->image &&
	    !flow_sources_find(report->sources, counting->block->image, address, &key.name, &key.line))
		key.name = counting->image->data.file_name;
	status = find_row(report, &key, &number);
	if (status == 0)
		report->rows[number].self_instructions += counting->block->count;
	return status;
}

/* ---- inlined functions --------------------------------------------------------------------------- */

/* Finds the function by symbols, for code without debug information. */
static int name_of_symbol(struct counting *counting, uint64_t address, const char **name)
{
	const struct analysis_function *function;
	struct analysis_code_place place;
	const int status = analysis_functions_place(counting->report->calls->functions, counting->block->image, address,
						    &place);

	*name = "";
	if (status < 0 || place.function == ANALYSIS_NO_FUNCTION)
		return status;
	function = analysis_function(counting->report->calls->functions, place.function);
	counting->name.size = 0;
	if (*function->name)
		common_text_safe(&counting->name, function->name);
	else
		analysis_function_text(function, &counting->name);
	*name = common_text_string(&counting->name);
	return 0;
}

/*
 * Finds the function's name. A function without a name in the debug information, as when a referenced file is missing,
 * gets its symbol's name.
 */
static int name_of_scope(struct counting *counting, const struct flow_scope *scope, uint64_t address, const char **name)
{
	if (!*scope->function->name)
		return name_of_symbol(counting, address, name);
	counting->name.size = 0;
	flow_symbols_name(counting->report->calls->symbols, scope->function->name, &counting->name);
	*name = common_text_string(&counting->name);
	return 0;
}

/*
 * Returns the innermost scope with a name: code inlined from a nameless function belongs to the surrounding function.
 */
static const struct flow_scope *named_scope(const struct flow_scope *scope)
{
	while (scope && scope->outer && !*scope->function->name)
		scope = scope->outer;
	return scope;
}

static bool is_same_function(const struct flow_source_function *a, const struct flow_source_function *b)
{
	return a == b || (a->line == b->line && !strcmp(a->name, b->name) && !strcmp(a->file, b->file));
}

/* Whether an inner scope of the same function was already added to the function's total. */
static bool is_counted(const struct flow_scope *innermost, const struct flow_scope *scope)
{
	for (; innermost != scope; innermost = innermost->outer)
		if (is_same_function(innermost->function, scope->function))
			return true;
	return false;
}

static int add_scopes(struct counting *counting, const struct flow_scope *innermost, uint64_t address)
{
	struct analysis_report *report = counting->report;
	const uint64_t count = counting->block->count;
	int status = 0;

	innermost = named_scope(innermost);
	for (const struct flow_scope *scope = innermost; status == 0 && scope; scope = named_scope(scope->outer)) {
		const struct flow_source_function *function = scope->function;
		struct row_key key = {"", function->file, counting->image->data.file_name, function->line};
		uint32_t number;

		if (is_counted(innermost, scope))
			continue;
		status = name_of_scope(counting, scope, address, &key.name);
		if (status == 0)
			status = find_row(report, &key, &number);
		if (status < 0)
			break;
		report->rows[number].self_instructions += scope == innermost ? count : 0;
		report->rows[number].total_instructions += count;
		report->rows[number].inlined_instructions += scope->outer ? count : 0;
	}
	return status;
}

static int add_function(struct counting *counting, uint64_t address)
{
	struct analysis_report *report = counting->report;
	const struct flow_scope *scope = flow_sources_scope(report->sources, counting->block->image, address);
	struct row_key key = {"", "", counting->image ? counting->image->data.file_name : "", 0};
	uint32_t number;
	int status;

	if (scope)
		return add_scopes(counting, scope, address);
	status = name_of_symbol(counting, address, &key.name);
	if (status == 0)
		status = find_row(report, &key, &number);
	if (status == 0) {
		report->rows[number].self_instructions += counting->block->count;
		report->rows[number].total_instructions += counting->block->count;
	}
	return status;
}

/* ---- lines and inlined functions ----------------------------------------------------------------- */

static int report_add_block(struct counting *counting, const struct analysis_profile_block *block)
{
	struct analysis_report *report = counting->report;
	const struct analysis_filter *filter = report->calls->input.filter;
	uint64_t address = block->address;
	int status = 0;

	counting->block = block;
	counting->image = block->image == FLOW_NONE ? NULL : flow_timeline_image(report->calls->timeline, block->image);
	report->sum.self_instructions += block->count * block->instructions;
	if (!analysis_filter_wants_image(filter, counting->image ? counting->image->data.file_name : ""))
		return 0;
	/* Converts the file address of the block to an address in the process, which lookups need. */
	if (counting->image)
		address += counting->image->data.base - counting->image->data.default_base;
	for (uint32_t i = 0; status == 0 && i < block->instructions; i++) {
		status = report->by == ANALYSIS_REPORT_LINE ? add_line(counting, address)
							    : add_function(counting, address);
		address += block->lengths[i];
	}
	return status;
}

int analysis_report_lines(struct analysis_report *report)
{
	const struct analysis_calls *calls = report->calls;
	struct counting counting = {.report = report};
	struct analysis_profile profile = {0};
	int status = flow_sources_open(calls->input.trace, calls->timeline, &report->sources);

	if (status == 0 && report->by == ANALYSIS_REPORT_INLINE)
		flow_sources_want_scopes(report->sources);
	if (status == 0)
		status = analysis_profile_run(calls->input.trace, calls->timeline, &calls->input.view, false, &profile);
	if (status < 0)
		return status;
	for (size_t i = 0; status == 0 && i < profile.block_count; i++)
		status = report_add_block(&counting, &profile.blocks[i]);
	report->gaps = profile.missing.gaps;
	analysis_profile_free(&profile);
	common_bytes_free(&counting.name);
	return status;
}
