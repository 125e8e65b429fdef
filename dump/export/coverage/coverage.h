/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes coverage for other programs and as text. */
#ifndef DUMP_EXPORT_COVERAGE_COVERAGE_H
#define DUMP_EXPORT_COVERAGE_COVERAGE_H

#include "analysis/coverage/coverage.h"
#include "query/function_near.h"

struct dump_coverage_print {
	struct dump_run *run; /* provides the output */
	const struct analysis_coverage *coverage;
	const char *function;   /* of --uncovered: only functions of this name; NULL: all */
	bool json;              /* of --uncovered */
	bool found;             /* set by dump_coverage_uncovered: a function was written */
	struct query_near near; /* names that are similar to `function`, if nothing was found */
	struct ptl_bytes line, name;
};

/*
 * Each function writes the whole coverage. Returns the status of dump_output_check, or PTL_NO_MEMORY. lcov: a tracefile
 * as in geninfo(1). Cobertura: XML of coverage-04.dtd.
 */
int dump_coverage_lcov(struct dump_coverage_print *print);
int dump_coverage_cobertura(struct dump_coverage_print *print);
int dump_coverage_text(struct dump_coverage_print *print);
int dump_coverage_json(struct dump_coverage_print *print);
/* Writes the lines that did not run, with their text, function by function; or as JSON, an object for each function. */
int dump_coverage_uncovered(struct dump_coverage_print *print);

#endif
