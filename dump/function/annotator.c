/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the data of annotations: counts of blocks, symbols, source lines and code. */
#include <stdlib.h>

#include "common/error.h"
#include "common/program/message.h"
#include "dump/function/annotate.h"
#include "dump/print/source_note.h"

int dump_annotator_open(struct dump_annotator *annotator, const struct dump_session *session,
			const struct flow_timeline *timeline, bool edges)
{
	struct flow_view_options options = dump_session_view_options(session);
	int status;

	*annotator = (struct dump_annotator){.timeline = timeline};
	options.code = &annotator->code;
	status = flow_profile_run(session->trace, timeline, &options, edges, &annotator->profile);
	common_progress_end();
	if (status == 0)
		status = flow_symbols_open(session->trace, timeline, !session->options->no_demangle,
					   &annotator->symbols);
	if (status == 0)
		status = flow_sources_open(session->trace, timeline, &annotator->sources);
	/* The profile came from saved partial results, so no code was loaded yet. */
	if (status == 0 && !annotator->code)
		status = flow_code_open(session->trace, timeline, options.threads, NULL, &annotator->code);
	annotator->shown = calloc(1, sizeof(*annotator->shown));
	return status == 0 && !annotator->shown ? common_fail_memory("names", sizeof(*annotator->shown)) : status;
}

void dump_annotator_close(struct dump_annotator *annotator)
{
	if (annotator->shown) {
		common_hash_map_free(&annotator->shown->places);
		common_bytes_free(&annotator->shown->texts);
		free(annotator->shown);
	}
	flow_code_close(annotator->code);
	dump_warn_of_sources(annotator->sources, NULL);
	flow_sources_close(annotator->sources);
	flow_symbols_close(annotator->symbols);
	flow_profile_free(&annotator->profile);
}
