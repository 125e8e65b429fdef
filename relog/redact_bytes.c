/* SPDX-License-Identifier: BSD-2-Clause */
/* Redacts among bytes of any kind, in place: strings in code, files, and payloads that no schema explains. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "format/utf16.h"
#include "relog/redact_parts.h"

#define LITERAL_MIN 4u /* bytes of a text that is looked for among bytes of any kind */

/* The components of a path in place. */
static int overwrite_path(struct relog_redactor *redactor, char *path, size_t size, bool *changed)
{
	size_t at = 0;
	int status = 0;

	while (at < size && !status) {
		const size_t length = strcspn(path + at, "/") < size - at ? strcspn(path + at, "/") : size - at;

		if (length && !relog_is_common_name(path + at, length)) {
			status = relog_token_fill(redactor, path + at, length, path + at, length);
			*changed = true;
		}
		at += length + 1;
	}
	return status;
}

/* Absolute paths in place. What else has slashes may be anything. */
static int overwrite_paths(struct relog_redactor *redactor, char *text, size_t size, bool *changed)
{
	size_t at = 0;
	int status = 0;

	while (at < size && !status) {
		const size_t length = relog_run_length(text + at, size - at, true);
		char *run = length && text[at] == '/' ? strndup(text + at, length) : NULL;

		if (run && relog_is_redacted_path(redactor->rules, run))
			status = overwrite_path(redactor, text + at, length, changed);
		free(run);
		at += length ? length : 1;
	}
	return status;
}

/* Characters in place: text has size of them and a zero behind. */
static int overwrite_text(struct relog_redactor *redactor, char *text, size_t size, bool *changed)
{
	size_t at = 0, first, length;
	int status = 0;

	while (!status && relog_find_match(redactor->rules, text + at, !at, &first, &length)) {
		status = relog_token_fill(redactor, text + at + first, length, text + at + first, length);
		at += first + length;
		*changed = true;
	}
	if (!status)
		status = overwrite_paths(redactor, text, size, changed);
	for (at = 0; at < size && !status;) {
		const size_t run = relog_run_length(text + at, size - at, false);
		const size_t known = run ? relog_known_part(redactor, text + at, run) : 0;

		if (known) {
			status = relog_token_fill(redactor, text + at, known, text + at, known);
			*changed = true;
		}
		at += run ? run : 1;
	}
	return status;
}

static bool is_text_byte(uint8_t byte)
{
	return byte >= 0x20 && byte != 0x7f;
}

/* A run of characters, `step` bytes apart. */
static int overwrite_run(struct relog_redactor *redactor, uint8_t *data, size_t count, size_t step, bool *changed)
{
	char *text = malloc(count + 1);
	bool touched = false;
	int status;

	if (!text)
		return ptl_fail_memory("a text", count);
	for (size_t i = 0; i < count; i++)
		text[i] = (char)data[i * step];
	text[count] = 0;
	status = overwrite_text(redactor, text, count, &touched);
	for (size_t i = 0; i < count && touched; i++)
		data[i * step] = (uint8_t)text[i];
	*changed |= touched;
	free(text);
	return status;
}

/* Whether zero bytes, or the ends of the data, stand around a run. */
static bool is_string(const uint8_t *data, size_t size, size_t first, size_t end, size_t step)
{
	return (first < step || !data[first - step]) && (end >= size || !data[end]);
}

static int overwrite_runs(struct relog_redactor *redactor, uint8_t *data, size_t size, size_t step, bool code,
			  bool *changed)
{
	size_t at = 0;
	int status = 0;

	while (at < size && !status) {
		size_t end = at;

		while (end < size && is_text_byte(data[end]) &&
		       (step == 1 || (end + 1 < size && !data[end + 1])))
			end += step;
		if ((end - at) / step >= RELOG_WORD_MIN && (!code || is_string(data, size, at, end, step)))
			status = overwrite_run(redactor, data + at, (end - at) / step, step, changed);
		at = end > at ? end : at + 1;
	}
	return status;
}

/* A text of a rule wherever it stands, as these bytes; step 2: the bytes of UTF-16. */
static int overwrite_bytes(struct relog_redactor *redactor, uint8_t *data, size_t size, const char *text,
			   const void *bytes, size_t length, size_t step, bool *changed)
{
	uint8_t *at = data;
	int status = 0;

	while (!status && (at = memmem(at, size - (size_t)(at - data), bytes, length))) {
		char *token = malloc(length / step + 1);

		status = token ? relog_token_fill(redactor, text, strlen(text), token, length / step)
			       : ptl_fail_memory("a token", length);
		for (size_t i = 0; i < length / step && !status; i++) {
			at[i * step] = (uint8_t)token[i];
			if (step == 2)
				at[i * step + 1] = 0;
		}
		free(token);
		at += length;
		*changed = true;
	}
	return status;
}

static int overwrite_literals(struct relog_redactor *redactor, uint8_t *data, size_t size, bool *changed)
{
	int status = 0;

	for (size_t i = 0; i < redactor->rules->literals.count && !status; i++) {
		const char *text = redactor->rules->literals.texts[i];
		struct ptl_bytes wide = {0};

		/* What is shorter may be anything. */
		if (strlen(text) < LITERAL_MIN)
			continue;
		ptl_write_utf16(&wide, text);
		if (wide.failed)
			status = ptl_fail_memory("a text", strlen(text));
		if (!status)
			status = overwrite_bytes(redactor, data, size, text, text, strlen(text), 1, changed);
		if (!status)
			status = overwrite_bytes(redactor, data, size, text, wide.data, wide.size - 2, 2, changed);
		ptl_bytes_free(&wide);
	}
	return status;
}

int relog_redact_raw(struct relog_redactor *redactor, uint8_t *data, size_t size, bool code, bool *changed)
{
	int status = size ? overwrite_literals(redactor, data, size, changed) : 0;

	if (!status)
		status = overwrite_runs(redactor, data, size, 1, code, changed);
	return status ? status : overwrite_runs(redactor, data, size, 2, code, changed);
}
