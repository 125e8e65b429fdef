/* SPDX-License-Identifier: BSD-2-Clause */
#include "dump/export/profile/function_line.h"

int dump_function_lines_open(struct dump_function_lines *lines, const struct analysis_calls *calls)
{
	*lines = (struct dump_function_lines){.calls = calls};
	return flow_sources_open(calls->input.trace, calls->timeline, &lines->sources);
}

void dump_function_lines_close(struct dump_function_lines *lines)
{
	flow_sources_close(lines->sources);
}

/* Finds an image with the function, and the function's address there. Returns false without an image. */
static bool find_place(const struct dump_function_lines *lines, const struct analysis_function *function,
		       uint32_t *image, uint64_t *address)
{
	const struct ptl_image_event *data;

	*image = function->place;
	if (*image == FLOW_NONE)
		return false;
	data = &flow_timeline_image(lines->calls->timeline, *image)->data;
	*address = function->address - data->default_base + data->base;
	return true;
}

bool dump_function_line(const struct dump_function_lines *lines, const struct analysis_function *function,
			const char **file, uint32_t *line)
{
	uint64_t address;
	uint32_t image;

	return find_place(lines, function, &image, &address) &&
	       flow_sources_find(lines->sources, image, address, file, line);
}

const char *dump_function_linker_name(const struct dump_function_lines *lines, const struct analysis_function *function)
{
	struct flow_symbol symbol;
	uint64_t address;
	uint32_t image;

	return *function->name && find_place(lines, function, &image, &address) &&
			       flow_symbols_find(lines->calls->symbols, image, address, &symbol)
		       ? symbol.name
		       : NULL;
}
