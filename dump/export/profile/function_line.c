/* SPDX-License-Identifier: BSD-2-Clause */
#include "dump/export/profile/function_line.h"

#include <string.h>

int dump_function_lines_open(struct dump_function_lines *lines, const struct dump_call_session *calls)
{
	const size_t count = flow_timeline_image_count(calls->timeline);
	int status;

	*lines = (struct dump_function_lines){.calls = calls};
	status = flow_sources_open(calls->session->trace, calls->timeline, &lines->sources);
	for (size_t i = 0; status == 0 && i < count; i++) {
		const char *path = flow_timeline_image(calls->timeline, i)->data.file_name;

		if (!common_byte_map_get(&lines->images, path, strlen(path)))
			status = common_byte_map_put(&lines->images, path, strlen(path), i);
	}
	return status;
}

void dump_function_lines_close(struct dump_function_lines *lines)
{
	flow_sources_close(lines->sources);
	common_byte_map_free(&lines->images);
}

/* Finds an image with the function, and the function's address there. Returns false without an image. */
static bool find_place(const struct dump_function_lines *lines, const struct dump_function *function, uint32_t *image,
		       uint64_t *address)
{
	const uint64_t *known = common_byte_map_get(&lines->images, function->path, strlen(function->path));
	const struct ptl_image_event *data;

	if (!known || !*function->path)
		return false;
	*image = (uint32_t)*known;
	data = &flow_timeline_image(lines->calls->timeline, *image)->data;
	*address = function->address - data->default_base + data->base;
	return true;
}

bool dump_function_line(const struct dump_function_lines *lines, const struct dump_function *function,
			const char **file, uint32_t *line)
{
	uint64_t address;
	uint32_t image;

	return find_place(lines, function, &image, &address) &&
	       flow_sources_find(lines->sources, image, address, file, line);
}

const char *dump_function_linker_name(const struct dump_function_lines *lines, const struct dump_function *function)
{
	struct flow_symbol symbol;
	uint64_t address;
	uint32_t image;

	return *function->name && find_place(lines, function, &image, &address) &&
			       flow_symbols_find(lines->calls->symbols, image, address, &symbol)
		       ? symbol.name
		       : NULL;
}
