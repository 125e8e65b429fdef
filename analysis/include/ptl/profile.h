/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums over the flow of a trace: by function, source line, image, branch, or edge. */
#ifndef PTL_PROFILE_H
#define PTL_PROFILE_H

#include <ptl/analysis.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the rows of a profile are. */
enum ptl_profile_by {
	PTL_PROFILE_FUNCTION = 0, /* calls, times and instructions of each function */
	PTL_PROFILE_IMAGE = 1,    /* the same of each file with code */
	PTL_PROFILE_LINE = 2,     /* instructions of each source line */
	PTL_PROFILE_BRANCH = 3,   /* conditional branches: how often each way was taken */
	PTL_PROFILE_EDGE = 4      /* from the end of a block to the next block, by branches of all kinds */
};

/* A row. The strings are valid until ptl_profile_free. Members that the kind of row lacks are 0 or "". */
struct ptl_profile_row {
	const char *name;  /* FUNCTION: name, "" without symbol; BRANCH and EDGE: function of `address` */
	const char *path;  /* file with the code; LINE: source file; "" unknown */
	uint64_t address;  /* FUNCTION: begin; BRANCH and EDGE: branch instruction; in the address space of `path` */
	uint32_t line;     /* LINE; 0: no debug information covers this code */
	uint32_t function; /* FUNCTION: number as in struct ptl_call */
	uint64_t count;    /* EDGE: executions; BRANCH: executions of the branch */
	uint64_t taken;    /* BRANCH; taken + not_taken is at most count, since a gap may hide the way */
	uint64_t not_taken;
	const char *to_path;        /* EDGE: file with the target */
	uint64_t to;                /* EDGE: target, in the address space of to_path */
	uint64_t calls;             /* FUNCTION and IMAGE: calls with a known begin */
	uint64_t instructions;      /* FUNCTION and IMAGE: with callees, each call counted once */
	uint64_t self_instructions; /* FUNCTION, IMAGE and LINE: own executed instructions */
	uint64_t time;              /* FUNCTION and IMAGE: nanoseconds, with callees */
	uint64_t self_time;
};

struct ptl_profile {
	size_t count;                       /* number of rows */
	const struct ptl_profile_row *rows; /* by self_instructions or count, the greatest first; then by place */
	/* all executed instructions that the options select; the sum of self_instructions of all rows, if rows have any */
	uint64_t instructions;
	uint64_t gaps; /* places where flow is missing: what ran there is in no row. BRANCH, EDGE and LINE only */
};

/*
 * Decodes the flow that the options select (NULL: everything), and adds up. Free *profile with ptl_profile_free, before
 * the analysis. options->by_time has no meaning here.
 * Returns PTL_MISUSE for NULL, an unknown kind of rows or an unknown engine, PTL_UNSUPPORTED for a newer structure, or a
 * status of ptl_flow_run.
 */
int ptl_profile_run(struct ptl_analysis *analysis, enum ptl_profile_by by, const struct ptl_flow_options *options,
		    struct ptl_profile **profile);
/* NULL is allowed. */
void ptl_profile_free(struct ptl_profile *profile);

#ifdef __cplusplus
}
#endif

#endif
