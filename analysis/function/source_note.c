/* SPDX-License-Identifier: BSD-2-Clause */
/* Warnings of missing debug information. */
#include "analysis/function/source_note.h"

#include "common/program/message.h"
#include "flow/symbol/source_line.h"

void analysis_warn_of_sources(struct flow_sources *sources, const char *what)
{
	size_t requested, found, missing;
	const char *name;

	if (!sources)
		return;
	flow_sources_counts(sources, &requested, &found);
	missing = flow_sources_missing(sources, &name);
	if (what && requested && !found) {
		common_message_warning("no %s: neither the trace nor this machine has debug "
				       "information for any image that ran (%zu)",
				       what, requested);
		common_message_hint("compile with -g, and record with ptl-record --embed debug; or name the folder of "
				    "debug files with --debug-path");
	}
	if (missing) {
		common_message_warning(
			"debug information refers to %s, which is not there%s: functions that were inlined "
			"may have no name",
			name, missing > 1 ? ", and to other such files" : "");
		common_message_hint("--debug-path FOLDER    where FOLDER has it, or .build-id/ with it");
	}
}
