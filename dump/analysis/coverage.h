/* SPDX-License-Identifier: BSD-2-Clause */
/* Which lines, branches and functions of the source ran and how often, added up over traces. */
#ifndef DUMP_ANALYSIS_COVERAGE_H
#define DUMP_ANALYSIS_COVERAGE_H

#include "common/hash_map.h"
#include "dump/function/annotate.h"
#include "dump/difference/change.h"
#include "dump/session/session.h"

struct dump_covered_line {
	uint32_t file, line;
	uint64_t count; /* how often the flow came to it, as gcov counts; 0: has code that did not run */
};

/* A conditional branch. */
struct dump_covered_branch {
	uint32_t file, line;
	uint32_t number; /* of those of the line in one function, in order of their addresses */
	uint64_t count;  /* of one that ran what follows is not always known: up to a gap */
	uint64_t taken, not_taken;
};

struct dump_covered_function {
	uint32_t file, line;
	char *name; /* as the linker knows it; owned */
	uint64_t count;
};

/* A source file and its part of the lists, each in order of lines. */
struct dump_covered_file {
	char *path; /* owned */
	const struct dump_covered_line *lines;
	const struct dump_covered_branch *branches;
	const struct dump_covered_function *functions;
	size_t line_count, branch_count, function_count;
};

/* How many there are, and how many of them ran. A branch is two: each way. */
struct dump_coverage_sum {
	uint64_t lines, lines_run;
	uint64_t branches, branches_run;
	uint64_t functions, functions_run;
};

/* Zero-initialised is empty; set what is the caller's. */
struct dump_coverage {
	const struct common_string_list *sources; /* patterns of paths; NULL or empty: all files */
	struct dump_changes *changes;             /* nothing but their lines; NULL: all */
	bool libraries;                           /* those of the system, too */
	struct dump_covered_file *files;          /* in order of their paths, after dump_coverage_finish */
	size_t file_count;
	uint64_t instructions; /* that ran in the images that were asked for */
	uint64_t left_out;     /* those of them whose image has no lines, or is a library of the system */
	uint64_t gaps;
	char **images; /* those that were left out; owned */
	size_t image_count;

	struct common_byte_map by_path; /* of files */
	struct common_byte_map by_image;
	struct common_hash_map by_line;  /* file and line: index in lines */
	struct common_byte_map by_place; /* of branches, and of functions by name */
	struct dump_covered_line *lines;
	struct dump_covered_branch *branches;
	struct dump_covered_function *functions;
	size_t line_count, line_room, branch_count, branch_room, function_count, function_room;
};

/* Adds what the session's options select of its trace. PTL_MISUSE where it has no image of --image; PTL_NO_MEMORY. */
int dump_coverage_add(struct dump_coverage *coverage, struct dump_session *session);
/* Puts all in order; nothing can be added then. PTL_NO_MEMORY. */
int dump_coverage_finish(struct dump_coverage *coverage);
void dump_coverage_free(struct dump_coverage *coverage);

void dump_coverage_sum(const struct dump_covered_file *file, struct dump_coverage_sum *sum);

/* For dump_coverage_add: the number of a file, FLOW_NONE for one that is not wanted; its line, branch, function. */
int dump_coverage_file(struct dump_coverage *coverage, const char *path, uint32_t *file);
int dump_coverage_line(struct dump_coverage *coverage, uint32_t file, uint32_t line, uint64_t count);
int dump_coverage_branch(struct dump_coverage *coverage, const struct dump_covered_branch *branch);
int dump_coverage_function(struct dump_coverage *coverage, uint32_t file, uint32_t line, const char *name,
			   uint64_t count);
int dump_coverage_leave_out(struct dump_coverage *coverage, const char *image, uint64_t instructions);

#endif
