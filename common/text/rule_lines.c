/* SPDX-License-Identifier: BSD-2-Clause */
/* Splits text into rules. */
#include "common/text/rule_lines.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/file.h"

#define FILE_MAX ((size_t)1 << 20)

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

int common_rule_lines(const char *name, const char *text, size_t size, bool anywhere, common_rule_visitor *visit,
		      void *context)
{
	unsigned number = 1;

	for (size_t at = 0; at < size; number++) {
		const char *line = text + at, *end = memchr(line, '\n', size - at), *comment;
		size_t length = end ? (size_t)(end - line) : size - at;
		int status = 0;

		at += length + 1;
		for (; length && is_blank(*line); length--)
			line++;
		comment = memchr(line, '#', length);
		if (comment && (anywhere || comment == line))
			length = (size_t)(comment - line);
		for (; length && is_blank(line[length - 1]); length--)
			;
		if (memchr(line, 0, length))
			status = common_fail(PTL_MISUSE, "a zero byte: this is no text");
		else if (length)
			status = visit(context, line, length);
		if (status < 0)
			return common_fail_in(status, "%s:%u", name, number);
		if (status)
			return status;
	}
	return 0;
}

int common_rule_file(const char *path, bool anywhere, common_rule_visitor *visit, void *context)
{
	uint8_t *data;
	size_t size;
	int status = common_read_file(path, FILE_MAX, &data, &size);

	if (status < 0)
		return status;
	status = common_rule_lines(path, (const char *)data, size, anywhere, visit, context);
	free(data);
	return status;
}
