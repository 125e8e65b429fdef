/* SPDX-License-Identifier: BSD-2-Clause */
/* Instructions of a function with execution counts, branch targets and source lines. */
#ifndef ANALYSIS_FUNCTION_ANNOTATE_H
#define ANALYSIS_FUNCTION_ANNOTATE_H

#include "analysis/input/input.h"
#include "analysis/profile/profile.h"
#include "common/hash_map.h"
#include "flow/code/code.h"
#include "flow/code/instruction.h"
#include "flow/symbol/source_line.h"
#include "flow/symbol/symbol.h"
#include "query/function_near.h"

/* Executed code in a file's own address space: a function, or a requested range. */
struct analysis_code_range {
	const char *name; /* symbol name; lives as long as the symbols; NULL: none */
	uint32_t content; /* index of the content in the profile */
	uint32_t image;   /* index in the timeline of an image that executed the code; FLOW_NONE */
	uint64_t first, end;
};

/* A target of an indirect branch. */
struct analysis_branch_target {
	size_t block; /* index of the target block in the profile */
	uint64_t count;
};

struct analysis_annotated_instruction {
	uint64_t address;
	uint64_t count;
	uint64_t taken, not_taken; /* of a conditional branch */
	uint64_t target;           /* target of a direct branch; 0: none */
	uint64_t same_line;        /* executions directly after another instruction of the same line */
	const char *file;          /* NULL: unknown */
	uint32_t line;
	uint8_t length;
	uint8_t branch; /* enum flow_branch */
	uint8_t mode;
	uint8_t bytes[FLOW_INSTRUCTION_MAX];
	/* range in the annotation's `targets`; the most frequent target comes first */
	size_t first_target, target_count;
};

/* A source line and how often the flow entered the line, as gcov counts. */
struct analysis_annotated_line {
	const char *file;
	uint32_t line;
	uint64_t count;
	uint64_t instructions; /* instructions executed on this line */
};

struct analysis_annotation {
	struct analysis_code_range function;
	struct analysis_annotated_instruction *instructions; /* sorted by address */
	size_t count;
	struct analysis_branch_target *targets;
	size_t target_count;
	struct analysis_annotated_line *lines; /* sorted by file and line */
	size_t line_count;
	uint64_t executed; /* executed instructions */
	uint64_t most;     /* largest execution count of an instruction */
};

/* A cache of displayed symbol names, zero-terminated. */
struct analysis_shown_names {
	struct common_hash_map places; /* offset in `texts`, by address of the symbol name in memory */
	struct ptl_bytes texts;
};

/* The data that annotations are made from. */
struct analysis_annotator {
	const struct flow_timeline *timeline;
	struct analysis_profile profile;
	struct flow_symbols *symbols;
	struct flow_sources *sources;
	struct flow_code *code;
	struct analysis_shown_names *shown; /* owned */
	bool executed;                      /* --executed: leave out instructions that did not run */
};

/*
 * Counts the selected flow of the trace, and opens symbols, sources and code. edges: also counts targets of
 * indirect branches. The caller owns the timeline, which must live longer. Call analysis_annotator_close in any case.
 * Returns a status of analysis_profile_run or flow_symbols_open.
 */
int analysis_annotator_open(struct analysis_annotator *annotator, const struct analysis_input *input,
			    const struct flow_timeline *timeline, bool edges);
void analysis_annotator_close(struct analysis_annotator *annotator);

/*
 * Finds executed functions by symbol name, by source name (with or without parameters), or by glob pattern.
 * "0xFIRST..0xLAST" finds addresses of files instead. wanted: a flag for each image of the timeline; NULL: all images.
 * The caller frees the list. Returns PTL_MISUSE for a malformed range, or PTL_NO_MEMORY.
 */
int analysis_functions_find(const struct analysis_annotator *annotator, const char *text, const bool *wanted,
			    struct analysis_code_range **functions, size_t *count);

/*
 * Call after analysis_functions_find found no function. Passes the names of executed functions to `near`, to find a
 * similar name.
 */
void analysis_functions_near(const struct analysis_annotator *annotator, const bool *wanted, struct query_near *near);

/* Annotates a function. Call analysis_annotation_free in any case. Returns 0 or PTL_NO_MEMORY. */
int analysis_annotate(const struct analysis_annotator *annotator, const struct analysis_code_range *function,
		      struct analysis_annotation *annotation);
void analysis_annotation_free(struct analysis_annotation *annotation);

/* Converts an address of the image's file to the address in the image's process. */
uint64_t analysis_address_in_process(const struct flow_timeline *timeline, uint32_t image, uint64_t address);

#endif
