/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a trace says about functions: opens a trace for ptl/calls.h (calls of each thread, in order) and ptl/profile.h
 * (sums by function, line, image, branch and edge). libptl-analysis(3) describes how to use this library.
 *
 * The rules of ptl/flow.h hold for all functions and structures here: statuses and their texts, times in nanoseconds of
 * the trace's clock, structures that begin with their size.
 */
#ifndef PTL_ANALYSIS_H
#define PTL_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/flow.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ptl_analysis; /* a trace with its processes, code, symbols and source lines */

struct ptl_analysis_options {
	size_t size;      /* sizeof(struct ptl_analysis_options) */
	bool no_demangle; /* names as symbol tables have them, "_ZN4Pool3runEv" instead of "Pool::run()" */
};

/*
 * Prepares a trace opened with ptl_open. options may be NULL. The caller keeps ownership of the trace; the trace must
 * outlive *analysis. Several runs of one analysis must not go on at once.
 * Returns PTL_MISUSE for NULL, PTL_UNSUPPORTED for a newer structure, or an error of ptl_process.
 */
int ptl_analysis_open(struct ptl_trace *trace, const struct ptl_analysis_options *options,
		      struct ptl_analysis **analysis);
/* NULL is allowed. Strings and functions of the analysis are valid until then. */
void ptl_analysis_close(struct ptl_analysis *analysis);

/*
 * Returns the number of symbol tables that could not be read. If the number is not 0, functions may lack names. Symbol
 * tables are read on demand: the number may grow until the end of a run.
 */
size_t ptl_analysis_unreadable_symbols(const struct ptl_analysis *analysis);

#ifdef __cplusplus
}
#endif

#endif
