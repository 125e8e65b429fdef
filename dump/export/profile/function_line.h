/* SPDX-License-Identifier: BSD-2-Clause */
/* Where functions begin in the source, and what the linker calls them. */
#ifndef DUMP_EXPORT_PROFILE_FUNCTION_LINE_H
#define DUMP_EXPORT_PROFILE_FUNCTION_LINE_H

#include "dump/call/call_session.h"
#include "flow/symbol/source_line.h"

struct dump_function_lines {
	const struct dump_call_session *calls;
	struct flow_sources *sources;
	struct common_byte_map images; /* the first image of each path, as an index in the timeline */
};

/* PTL_NO_MEMORY; close in any case. */
int dump_function_lines_open(struct dump_function_lines *lines, const struct dump_call_session *calls);
void dump_function_lines_close(struct dump_function_lines *lines);

/* The line of the function's first instruction; false where it is not known. *file lives as long as lines. */
bool dump_function_line(const struct dump_function_lines *lines, const struct dump_function *function,
			const char **file, uint32_t *line);

/* What the linker calls it; NULL: it has no name. Lives as long as the calls' symbols. */
const char *dump_function_linker_name(const struct dump_function_lines *lines, const struct dump_function *function);

#endif
