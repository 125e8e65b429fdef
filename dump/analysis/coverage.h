/* SPDX-License-Identifier: BSD-2-Clause */
/* Coverage of source lines, branches and functions, summed over traces. */
#ifndef DUMP_ANALYSIS_COVERAGE_H
#define DUMP_ANALYSIS_COVERAGE_H

#include "common/hash_map.h"
#include "dump/function/annotate.h"
#include "dump/difference/change.h"
#include "dump/session/session.h"

struct dump_covered_line {
	uint32_t file, line;
	uint64_t count; /* how often the flow entered the line, as gcov counts; 0: has code that did not run */
};

/* A conditional branch. */
struct dump_covered_branch {
	uint32_t file, line;
	uint32_t number; /* index among the line's branches in one function, by address */
	uint64_t count;  /* executions; may exceed taken + not_taken, since a gap can hide the direction */
	uint64_t taken, not_taken;
};

struct dump_covered_function {
	uint32_t file, line;
	char *name; /* symbol name; owned */
	uint64_t count;
};

/* A source file and its sections of the lists, each sorted by line. */
struct dump_covered_file {
	char *path; /* owned */
	const struct dump_covered_line *lines;
	const struct dump_covered_branch *branches;
	const struct dump_covered_function *functions;
	size_t line_count, branch_count, function_count;
};

/* Totals, and how many of them ran. A branch counts as two: one for each direction. */
struct dump_coverage_sum {
	uint64_t lines, lines_run;
	uint64_t branches, branches_run;
	uint64_t functions, functions_run;
};

/* Coverage of all added traces. Zero-initialise, then set the caller's members. */
struct dump_coverage {
	/* set by the caller: glob patterns of paths; NULL or empty: all files */
	const struct common_string_list *sources;
	struct dump_changes *changes;    /* set by the caller: only changed lines count; NULL: all lines */
	bool libraries;                  /* set by the caller: include system libraries */
	struct dump_covered_file *files; /* sorted by path after dump_coverage_finish */
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
	struct dump_covered_line *lines;
	struct dump_covered_branch *branches;
	struct dump_covered_function *functions;
	size_t line_count, line_room, branch_count, branch_room, function_count, function_room;
};

/* Adds the selected flow of the session's trace. Returns PTL_MISUSE if --image matches no image, or PTL_NO_MEMORY. */
int dump_coverage_add(struct dump_coverage *coverage, struct dump_session *session);
/* Sorts all lists. No trace can be added afterwards. Returns 0 or PTL_NO_MEMORY. */
int dump_coverage_finish(struct dump_coverage *coverage);
void dump_coverage_free(struct dump_coverage *coverage);

void dump_coverage_sum(const struct dump_covered_file *file, struct dump_coverage_sum *sum);

/*
 * For dump_coverage_add: adds a file, line, branch, function or skipped image. *file is FLOW_NONE for an unselected
 * file.
 */
int dump_coverage_file(struct dump_coverage *coverage, const char *path, uint32_t *file);
int dump_coverage_line(struct dump_coverage *coverage, uint32_t file, uint32_t line, uint64_t count);
int dump_coverage_branch(struct dump_coverage *coverage, const struct dump_covered_branch *branch);
int dump_coverage_function(struct dump_coverage *coverage, uint32_t file, uint32_t line, const char *name,
			   uint64_t count);
int dump_coverage_leave_out(struct dump_coverage *coverage, const char *image, uint64_t instructions);

#endif
