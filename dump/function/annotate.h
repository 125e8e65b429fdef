/* SPDX-License-Identifier: BSD-2-Clause */
/* The instructions of a function with how often each ran, where its branches went, and what lines they are of. */
#ifndef DUMP_FUNCTION_ANNOTATE_H
#define DUMP_FUNCTION_ANNOTATE_H

#include "common/hash_map.h"
#include "common/text/nearest.h"
#include "dump/session/session.h"
#include "flow/code/code.h"
#include "flow/code/instruction.h"
#include "flow/symbol/source_line.h"
#include "flow/symbol/symbol.h"
#include "flow/view/profile.h"

/* A part of a file's own address space that ran: a function, or a range that was asked for. */
struct dump_code_range {
	const char *name; /* as the linker knows it; lives as long as the symbols; NULL */
	uint32_t content; /* of the profile */
	uint32_t image;   /* index in the timeline: one that it ran in; FLOW_NONE */
	uint64_t first, end;
};

/* Where an indirect branch led. */
struct dump_branch_target {
	size_t block; /* of the profile */
	uint64_t count;
};

struct dump_annotated_instruction {
	uint64_t address;
	uint64_t count;
	uint64_t taken, not_taken; /* of a conditional branch */
	uint64_t target;           /* of a direct one; 0 */
	uint64_t same_line;        /* how often it came from another instruction of its line */
	const char *file;          /* NULL: not known */
	uint32_t line;
	uint8_t length;
	uint8_t branch; /* enum flow_branch */
	uint8_t mode;
	uint8_t bytes[FLOW_INSTRUCTION_MAX];
	size_t first_target, target_count; /* in the annotation's targets; the most frequent first */
};

/* How often the flow came to a line of the source, as gcov counts it. */
struct dump_annotated_line {
	const char *file;
	uint32_t line;
	uint64_t count;
	uint64_t instructions; /* that ran there */
};

struct dump_annotation {
	struct dump_code_range function;
	struct dump_annotated_instruction *instructions; /* in order of their addresses */
	size_t count;
	struct dump_branch_target *targets;
	size_t target_count;
	struct dump_annotated_line *lines; /* in order of file and line */
	size_t line_count;
	uint64_t executed; /* instructions */
	uint64_t most;     /* the largest count */
};

/* Names of symbols as they are shown, made when they are first asked for: a zero behind each. */
struct dump_shown_names {
	struct common_hash_map places; /* where in texts, by where the linker's name is in memory */
	struct ptl_bytes texts;
};

/* What annotations are made of. */
struct dump_annotator {
	const struct flow_timeline *timeline;
	struct flow_profile profile;
	struct flow_symbols *symbols;
	struct flow_sources *sources;
	struct flow_code *code;
	struct dump_shown_names *shown; /* owned */
	bool executed;                  /* leave out what did not run */
};

/*
 * Counts what the session's options select of its trace, and opens the rest; `edges` counts where indirect branches led, too.
 * The timeline is the caller's, and lives longer. Close in any case. What flow_profile_run and flow_symbols_open return.
 */
int dump_annotator_open(struct dump_annotator *annotator, const struct dump_session *session,
			const struct flow_timeline *timeline, bool edges);
void dump_annotator_close(struct dump_annotator *annotator);

/*
 * The functions that ran and are called so: by the linker, in the source (with or without parameters), or matching a glob
 * pattern. "0xFIRST..0xLAST" are addresses of files instead. wanted: for each image of the timeline; NULL for all. The
 * caller frees the list. PTL_MISUSE for a range that is none, PTL_NO_MEMORY.
 */
int dump_functions_find(const struct dump_annotator *annotator, const char *text, const bool *wanted,
			struct dump_code_range **functions, size_t *count);

/* Of names that have run, after dump_functions_find has found none, looks which is near. */
void dump_functions_near(const struct dump_annotator *annotator, const bool *wanted, struct common_nearest *nearest);

/* Free with dump_annotation_free, also after a failure. PTL_NO_MEMORY. */
int dump_annotate(const struct dump_annotator *annotator, const struct dump_code_range *function,
		  struct dump_annotation *annotation);
void dump_annotation_free(struct dump_annotation *annotation);

/* An address of a file as it was in the process that the image is of. */
uint64_t dump_address_in_process(const struct flow_timeline *timeline, uint32_t image, uint64_t address);

#endif
