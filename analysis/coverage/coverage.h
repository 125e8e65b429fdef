/* SPDX-License-Identifier: BSD-2-Clause */
/* Coverage of source lines, branches and functions, summed over traces. */
#ifndef ANALYSIS_COVERAGE_COVERAGE_H
#define ANALYSIS_COVERAGE_COVERAGE_H

#include "analysis/difference/change.h"
#include "analysis/function/annotate.h"
#include "analysis/input/input.h"
#include "common/hash_map.h"

struct analysis_covered_line {
	uint32_t file, line;
	uint64_t count; /* how often the flow entered the line, as gcov counts; 0: has code that did not run */
};

/* A conditional branch. */
struct analysis_covered_branch {
	uint32_t file, line;
	uint32_t number; /* index among the line's branches in one function, by address */
	uint64_t count;  /* executions; may exceed taken + not_taken, since a gap can hide the direction */
	uint64_t taken, not_taken;
};

struct analysis_covered_function {
	uint32_t file, line;
	char *name; /* symbol name; owned */
	uint64_t count;
};

/* A source file and its sections of the lists, each sorted by line. */
struct analysis_covered_file {
	char *path; /* owned */
	const struct analysis_covered_line *lines;
	const struct analysis_covered_branch *branches;
	const struct analysis_covered_function *functions;
	size_t line_count, branch_count, function_count;
};

/* Totals, and how many of them ran. A branch counts as two: one for each direction. */
struct analysis_coverage_sum {
	uint64_t lines, lines_run;
	uint64_t branches, branches_run;
	uint64_t functions, functions_run;
};

/* Coverage of all added traces. Zero-initialise, then set the caller's members. */
struct analysis_coverage {
	/* set by the caller: glob patterns of paths; NULL or empty: all files */
	const struct common_string_list *sources;
	struct analysis_changes *changes;    /* set by the caller: only changed lines count; NULL: all lines */
	bool libraries;                      /* set by the caller: include system libraries */
	struct analysis_covered_file *files; /* sorted by path after analysis_coverage_finish */
	size_t file_count;
	uint64_t instructions; /* executed instructions in the selected images */
	uint64_t left_out;     /* of these, instructions in images without lines or in system libraries */
	uint64_t gaps;
	char **images; /* paths of the images counted in left_out; owned */
	size_t image_count;

	struct common_byte_map by_path; /* indexes of files */
	struct common_byte_map by_image;
	struct common_hash_map by_line;  /* by file and line: index in `lines` */
	struct common_byte_map by_place; /* indexes of branches by place, of functions by name */
	struct analysis_covered_line *lines;
	struct analysis_covered_branch *branches;
	struct analysis_covered_function *functions;
	size_t line_count, line_room, branch_count, branch_room, function_count, function_room;
};

/* Adds the selected flow of the trace. Returns a status of analysis_annotator_open, or PTL_NO_MEMORY. */
int analysis_coverage_add(struct analysis_coverage *coverage, const struct analysis_input *input,
			  const struct flow_timeline *timeline);
/* Sorts all lists. No trace can be added afterwards. Returns 0 or PTL_NO_MEMORY. */
int analysis_coverage_finish(struct analysis_coverage *coverage);
void analysis_coverage_free(struct analysis_coverage *coverage);

void analysis_coverage_sum(const struct analysis_covered_file *file, struct analysis_coverage_sum *sum);

/*
 * For analysis_coverage_add: adds a file, line, branch, function or skipped image. *file is FLOW_NONE for an unselected
 * file.
 */
int analysis_coverage_file(struct analysis_coverage *coverage, const char *path, uint32_t *file);
int analysis_coverage_line(struct analysis_coverage *coverage, uint32_t file, uint32_t line, uint64_t count);
int analysis_coverage_branch(struct analysis_coverage *coverage, const struct analysis_covered_branch *branch);
int analysis_coverage_function(struct analysis_coverage *coverage, uint32_t file, uint32_t line, const char *name,
			       uint64_t count);
int analysis_coverage_leave_out(struct analysis_coverage *coverage, const char *image, uint64_t instructions);

#endif
