/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes --values. Input: u16 size of a specification, the specification, and an ELF file with DWARF. Steps of values are
 * within their bounds, and become fetch arguments of uprobes.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/file.h"
#include "record/value/exit.h"
#include "record/value/fetch.h"
#include "record/value/function.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_steps(struct value_fetch *fetch, const struct value_steps *steps, bool is_text)
{
	struct value_fetch_link links[CHANNEL_VALUE_FIELD_STEPS_MAX];
	uint8_t text;

	if (steps->overflow || steps->count > CHANNEL_VALUE_FIELD_STEPS_MAX)
		abort();
	(void)value_fetch_steps(fetch, steps->list, steps->count, links, is_text ? &text : NULL);
	if (fetch->count > VALUE_FETCH_ARGUMENTS_MAX)
		abort();
}

static void check_fields(const struct value_fields *fields)
{
	struct value_fetch fetch = {0};
	struct ptl_bytes text = {0};

	if (fields->count > CHANNEL_VALUE_PLAN_FIELDS_MAX)
		abort();
	for (size_t i = 0; i < fields->count; i++) {
		const struct value_field *field = &fields->list[i];

		if (!field->name || (field->kind == CHANNEL_VALUE_NUMBER && (!field->size || field->size > 8)) ||
		    (field->kind == CHANNEL_VALUE_NOTHING && field->why[0] != '<'))
			abort();
		check_steps(&fetch, &field->steps, field->kind > CHANNEL_VALUE_NUMBER);
		check_steps(&fetch, &field->length, false);
	}
	value_fetch_print(&fetch, &text);
	if (text.size > 4000)
		abort();
	common_bytes_free(&text);
}

static int take_function(void *context, const struct value_file *file, struct value_function *function)
{
	struct channel_value_plan plan = {.range_count = function->range_count};
	struct value_exits *exits = malloc(sizeof(*exits));

	(void)context;
	if (function->range_count > CHANNEL_VALUE_RANGES_MAX)
		abort();
	memcpy(plan.ranges, function->ranges, sizeof(plan.ranges));
	if (exits)
		(void)value_exits_find(file->fd, &plan, function->pc, exits);
	free(exits);
	check_fields(&function->fields);
	check_fields(&function->results);
	return 0;
}

static void find_values(int fd, const struct value_spec *spec)
{
	struct value_file file;
	char path[64], note[256];
	size_t count;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (value_file_open(path, 0, 0, &file) < 0)
		return;
	(void)value_function_find(&file, spec, take_function, NULL, &count, note);
	value_file_close(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t length = size < 2 ? 0 : common_load16(data);
	struct value_spec spec;
	char *text;
	int fd;

	if (size < 2 || length > size - 2)
		return 0;
	text = strndup((const char *)data + 2, length);
	fd = memfd_create("values", MFD_CLOEXEC);
	if (text && fd >= 0 && common_write_all(fd, data + 2 + length, size - 2 - length) == 0 &&
	    value_spec_parse(text, &spec) == 0) {
		find_values(fd, &spec);
		value_spec_free(&spec);
	}
	if (fd >= 0)
		close(fd);
	free(text);
	return 0;
}
