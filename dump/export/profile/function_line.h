/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the source lines and symbol names of functions. */
#ifndef DUMP_EXPORT_PROFILE_FUNCTION_LINE_H
#define DUMP_EXPORT_PROFILE_FUNCTION_LINE_H

#include "dump/run/calls.h"
#include "flow/symbol/source_line.h"

struct dump_function_lines {
	const struct analysis_calls *calls;
	struct flow_sources *sources;
};

/* Returns 0 or PTL_NO_MEMORY. Call dump_function_lines_close in any case. */
int dump_function_lines_open(struct dump_function_lines *lines, const struct analysis_calls *calls);
void dump_function_lines_close(struct dump_function_lines *lines);

/* Finds the line of the function's first instruction. Returns false if unknown. *file lives as long as `lines`. */
bool dump_function_line(const struct dump_function_lines *lines, const struct analysis_function *function,
			const char **file, uint32_t *line);

/* Returns the function's symbol name; NULL: nameless. Lives as long as the symbols of the calls. */
const char *dump_function_linker_name(const struct dump_function_lines *lines,
				      const struct analysis_function *function);

#endif
