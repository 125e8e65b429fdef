/* SPDX-License-Identifier: BSD-2-Clause */
/* Coverage as other programs read it, and as text. */
#ifndef DUMP_EXPORT_COVERAGE_COVERAGE_H
#define DUMP_EXPORT_COVERAGE_COVERAGE_H

#include "dump/analysis/coverage.h"

struct dump_coverage_print {
	struct dump_session *session; /* whose output is written to */
	const struct dump_coverage *coverage;
	struct ptl_bytes line, name;
};

/*
 * All of it; memory that lacks is left in line.failed. lcov: its tracefile, as geninfo(1) has it. Cobertura: its XML, coverage-04.dtd.
 */
int dump_coverage_lcov(struct dump_coverage_print *print);
int dump_coverage_cobertura(struct dump_coverage_print *print);
int dump_coverage_text(struct dump_coverage_print *print);
int dump_coverage_json(struct dump_coverage_print *print);

#endif
