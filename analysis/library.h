/* SPDX-License-Identifier: BSD-2-Clause */
/* Internals shared by the files of libptl-analysis's public interface. */
#ifndef ANALYSIS_LIBRARY_H
#define ANALYSIS_LIBRARY_H

#include <ptl/analysis.h>

#include "analysis/call/call_input.h"

struct ptl_analysis {
	struct analysis_calls calls;
	struct analysis_filter filter; /* selects everything; the options of a run select */
};

/* Takes the options of a run. They stay in the analysis. Returns the status of flow_library_options. */
int analysis_library_options(struct ptl_analysis *analysis, const struct ptl_flow_options *options);

#endif
