/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the data of annotations: counts of blocks, symbols, source lines and code. */
#include <stdlib.h>

#include "analysis/function/annotate.h"
#include "analysis/function/source_note.h"
#include "common/error.h"
#include "common/program/message.h"

int analysis_annotator_open(struct analysis_annotator *annotator, const struct analysis_input *input,
			    const struct flow_timeline *timeline, bool edges)
{
	struct flow_view_options options = input->view;
	int status;

	*annotator = (struct analysis_annotator){.timeline = timeline};
	options.code = &annotator->code;
	status = analysis_profile_run(input->trace, timeline, &options, edges, &annotator->profile);
	common_progress_end();
	if (status == 0)
		status = flow_symbols_open(input->trace, timeline, input->names, &annotator->symbols);
	if (status == 0)
		status = flow_sources_open(input->trace, timeline, &annotator->sources);
	/* The profile came from saved partial results, so no code was loaded yet. */
	if (status == 0 && !annotator->code)
		status = flow_code_open(input->trace, timeline, options.threads, NULL, &annotator->code);
	annotator->shown = calloc(1, sizeof(*annotator->shown));
	return status == 0 && !annotator->shown ? common_fail_memory("names", sizeof(*annotator->shown)) : status;
}

void analysis_annotator_close(struct analysis_annotator *annotator)
{
	if (annotator->shown) {
		common_hash_map_free(&annotator->shown->places);
		common_bytes_free(&annotator->shown->texts);
		free(annotator->shown);
	}
	flow_code_close(annotator->code);
	analysis_warn_of_sources(annotator->sources, NULL);
	flow_sources_close(annotator->sources);
	flow_symbols_close(annotator->symbols);
	analysis_profile_free(&annotator->profile);
}
