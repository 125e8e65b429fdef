/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of ptl/profile.h. */
#include <ptl/profile.h>

#include <stdlib.h>
#include <string.h>

#include "analysis/call/call_report.h"
#include "analysis/library.h"
#include "analysis/profile/profile.h"
#include "common/error.h"
#include "common/vector.h"

/* The result that the caller gets, with the data behind its rows. */
struct made {
	struct ptl_profile profile; /* first member: the caller's pointer */
	struct ptl_profile_row *rows;
	size_t capacity;
	struct analysis_report report;   /* of functions, images and lines */
	struct analysis_profile counted; /* of branches and edges */
};

static int add_row(struct made *made, const struct ptl_profile_row *row)
{
	struct ptl_profile_row *added;

	if (COMMON_VECTOR_RESERVE(made->rows, made->capacity, made->profile.count + 1, "rows") < 0)
		return PTL_NO_MEMORY;
	added = &made->rows[made->profile.count++];
	*added = *row;
	added->name = row->name ? row->name : "";
	added->path = row->path ? row->path : "";
	added->to_path = row->to_path ? row->to_path : "";
	return 0;
}

/* ---- functions, images, lines ----------------------------------------------------------------------- */

static int add_report_row(struct made *made, const struct analysis_report_row *from)
{
	const struct analysis_function *function = analysis_function(made->report.calls->functions, from->function);
	struct ptl_profile_row row = {
		.path = from->image,
		.function = PTL_NO_ID,
		.calls = from->calls,
		.instructions = from->total_instructions,
		.self_instructions = from->self_instructions,
		.time = from->total_time,
		.self_time = from->self_time,
	};

	/* A stub, which handed its values to its function. */
	if (!from->calls && !from->total_instructions && !from->self_instructions && !from->total_time)
		return 0;
	if (made->report.by == ANALYSIS_REPORT_FUNCTION && from->function != ANALYSIS_NO_FUNCTION) {
		row.name = function->name;
		row.address = function->address;
		row.function = from->function;
	}
	if (made->report.by == ANALYSIS_REPORT_LINE) {
		row.path = from->file[0] == 0 && strcmp(from->name, "[no line]") == 0 ? "" : from->name;
		row.line = from->line;
	}
	return add_row(made, &row);
}

static int add_report(struct made *made, struct ptl_analysis *analysis)
{
	const struct analysis_call_observer observer = analysis_report_observer_of(&made->report);
	const struct analysis_calls *calls = &analysis->calls;
	int status = made->report.by == ANALYSIS_REPORT_LINE
			     ? analysis_report_lines(&made->report)
			     : analysis_calls_run(calls->input.trace, calls->timeline, &calls->input.view,
						  calls->functions, &observer);

	for (size_t i = 0; status == 0 && i < made->report.count; i++)
		status = add_report_row(made, &made->report.rows[i]);
	made->profile.instructions = made->report.sum.self_instructions;
	made->profile.gaps = made->report.gaps;
	return status;
}

/* ---- branches, edges ---------------------------------------------------------------------------------- */

/* Returns the path of the block's file; "" without a file. */
static const char *path_of(const struct made *made, const struct analysis_profile_block *block)
{
	return block->content == FLOW_NONE ? "" : made->counted.contents[block->content].path;
}

static uint64_t last_address(const struct analysis_profile_block *block)
{
	return block->address + block->size - block->lengths[block->instructions - 1];
}

/* Begins a row for the branch at the end of a block. */
static int begin_row(const struct ptl_analysis *analysis, const struct made *made,
		     const struct analysis_profile_block *block, struct ptl_profile_row *row)
{
	const struct analysis_calls *calls = &analysis->calls;
	const struct ptl_image_event *image = block->image == FLOW_NONE
						      ? NULL
						      : &flow_timeline_image(calls->timeline, block->image)->data;
	struct analysis_code_place place;
	int status;

	*row = (struct ptl_profile_row){
		.path = path_of(made, block), .address = last_address(block), .function = PTL_NO_ID};
	/* Lookups need the address in the process. */
	status = analysis_functions_place(calls->functions, block->image,
					  row->address + (image ? image->base - image->default_base : 0), &place);
	if (status == 0 && place.function != ANALYSIS_NO_FUNCTION) {
		row->name = analysis_function(calls->functions, place.function)->name;
		row->function = place.function;
	}
	return status;
}

static int add_branch(const struct ptl_analysis *analysis, struct made *made,
		      const struct analysis_profile_block *block)
{
	struct ptl_profile_row row;
	int status;

	if (block->branch != FLOW_BRANCH_CONDITIONAL)
		return 0;
	status = begin_row(analysis, made, block, &row);
	row.count = block->count;
	row.taken = block->taken;
	row.not_taken = block->not_taken;
	return status == 0 ? add_row(made, &row) : status;
}

static int add_edge(const struct ptl_analysis *analysis, struct made *made, const struct analysis_profile_block *block,
		    const char *to_path, uint64_t to, uint64_t count)
{
	struct ptl_profile_row row;
	int status;

	if (!count)
		return 0;
	status = begin_row(analysis, made, block, &row);
	row.to_path = to_path;
	row.to = to;
	row.count = count;
	return status == 0 ? add_row(made, &row) : status;
}

/* Adds the edges of a block but those of indirect branches. */
static int add_direct_edges(const struct ptl_analysis *analysis, struct made *made,
			    const struct analysis_profile_block *block)
{
	const char *path = path_of(made, block);
	int status = 0;

	if (block->branch == FLOW_BRANCH_CONDITIONAL)
		status = add_edge(analysis, made, block, path, block->address + block->size, block->not_taken);
	if (status == 0 && block->target)
		status = add_edge(analysis, made, block, path, block->target,
				  block->branch == FLOW_BRANCH_CONDITIONAL ? block->taken : block->count);
	return status;
}

static int add_counts(struct made *made, struct ptl_analysis *analysis, bool edges)
{
	const struct analysis_calls *calls = &analysis->calls;
	const struct analysis_profile *counted = &made->counted;
	int status = analysis_profile_run(calls->input.trace, calls->timeline, &calls->input.view, edges,
					  &made->counted);

	if (status < 0)
		return status;
	for (size_t i = 0; status == 0 && i < counted->block_count; i++)
		status = edges ? add_direct_edges(analysis, made, &counted->blocks[i])
			       : add_branch(analysis, made, &counted->blocks[i]);
	for (size_t i = 0; status == 0 && i < counted->edge_count; i++) {
		const struct analysis_profile_edge *edge = &counted->edges[i];
		const struct analysis_profile_block *to = &counted->blocks[edge->to];

		status = add_edge(analysis, made, &counted->blocks[edge->from], path_of(made, to), to->address,
				  edge->count);
	}
	made->profile.instructions = counted->instructions;
	made->profile.gaps = counted->missing.gaps;
	return status;
}

/* Different blocks may end with the same branch: rows of one branch, and of one edge, become one row. */
static bool is_same_place(const struct ptl_profile_row *a, const struct ptl_profile_row *b)
{
	return a->address == b->address && a->to == b->to && strcmp(a->path, b->path) == 0 &&
	       strcmp(a->to_path, b->to_path) == 0;
}

/* ---- order ---------------------------------------------------------------------------------------------- */

static int compare_places(const void *left, const void *right)
{
	const struct ptl_profile_row *a = left, *b = right;
	int order = strcmp(a->path, b->path);

	if (!order)
		order = a->address < b->address ? -1 : a->address > b->address;
	if (!order)
		order = a->line < b->line ? -1 : a->line > b->line;
	if (!order)
		order = strcmp(a->name, b->name);
	if (!order)
		order = strcmp(a->to_path, b->to_path);
	return order ? order : a->to < b->to ? -1 : a->to > b->to;
}

static int compare_amounts(const void *left, const void *right)
{
	const struct ptl_profile_row *a = left, *b = right;

	if (a->self_instructions != b->self_instructions)
		return a->self_instructions > b->self_instructions ? -1 : 1;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return compare_places(left, right);
}

static void join_equal(struct made *made)
{
	struct ptl_profile_row *rows = made->rows;
	size_t count = 0;

	for (size_t i = 0; i < made->profile.count; i++) {
		if (count && is_same_place(&rows[count - 1], &rows[i])) {
			rows[count - 1].count += rows[i].count;
			rows[count - 1].taken += rows[i].taken;
			rows[count - 1].not_taken += rows[i].not_taken;
		} else {
			rows[count++] = rows[i];
		}
	}
	made->profile.count = count;
}

static void finish_rows(struct made *made, bool of_places)
{
	if (made->profile.count && of_places) {
		qsort(made->rows, made->profile.count, sizeof(*made->rows), compare_places);
		join_equal(made);
	}
	if (made->profile.count)
		qsort(made->rows, made->profile.count, sizeof(*made->rows), compare_amounts);
	made->profile.rows = made->rows;
}

/* ---- the run --------------------------------------------------------------------------------------------- */

int ptl_profile_run(struct ptl_analysis *analysis, enum ptl_profile_by by, const struct ptl_flow_options *options,
		    struct ptl_profile **profile)
{
	static const enum analysis_report_by reports[] = {
		[PTL_PROFILE_FUNCTION] = ANALYSIS_REPORT_FUNCTION,
		[PTL_PROFILE_IMAGE] = ANALYSIS_REPORT_IMAGE,
		[PTL_PROFILE_LINE] = ANALYSIS_REPORT_LINE,
	};
	const bool of_places = by == PTL_PROFILE_BRANCH || by == PTL_PROFILE_EDGE;
	struct made *made;
	int status;

	if (!analysis || !profile)
		return common_fail(PTL_MISUSE, "ptl_profile_run needs an analysis and a place for the result");
	*profile = NULL;
	if ((unsigned)by > PTL_PROFILE_EDGE)
		return common_fail(PTL_MISUSE, "ptl_profile_run: there are no rows of kind %d", (int)by);
	status = analysis_library_options(analysis, options);
	if (status < 0)
		return status;
	made = calloc(1, sizeof(*made));
	if (!made)
		return common_fail_memory("a profile", sizeof(*made));
	made->report.calls = &analysis->calls;
	if (!of_places)
		made->report.by = reports[by];
	status = of_places ? add_counts(made, analysis, by == PTL_PROFILE_EDGE) : add_report(made, analysis);
	if (status < 0) {
		ptl_profile_free(&made->profile);
		return status;
	}
	finish_rows(made, of_places);
	*profile = &made->profile;
	return 0;
}

void ptl_profile_free(struct ptl_profile *profile)
{
	struct made *made = (struct made *)profile;

	if (!profile)
		return;
	analysis_report_free(&made->report);
	analysis_profile_free(&made->counted);
	free(made->rows);
	free(made);
}
