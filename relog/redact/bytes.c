/* SPDX-License-Identifier: BSD-2-Clause */
/* Redacts arbitrary bytes in place: data of programs, and payloads without a schema. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/utf16.h"
#include "common/text/utf8.h"
#include "relog/redact/parts.h"

#define LITERAL_MIN 4u /* minimum bytes of a rule's text that is searched in arbitrary bytes */

/* Overwrites the components of a path in place. */
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

/* Overwrites absolute paths in place. Other text with slashes may be anything. */
static int overwrite_paths(struct relog_redactor *redactor, char *text, size_t size, bool *changed)
{
	size_t at = 0;
	int status = 0;

	while (at < size && !status) {
		const size_t length = relog_run_length(text + at, size - at, true);
		char *run = length && text[at] == '/' ? strndup(text + at, length) : NULL;

		if (run && relog_is_redacted_path(redactor, run))
			status = overwrite_path(redactor, text + at, length, changed);
		free(run);
		at += length ? length : 1;
	}
	return status;
}

/* Redacts text in place. text has `size` characters and a terminating zero. */
static int overwrite_text(struct relog_redactor *redactor, char *text, size_t size, bool *changed)
{
	size_t at = 0, first, length;
	int status = 0;

	while (!status && relog_find_match(redactor, text, size, at, &first, &length)) {
		status = relog_token_fill(redactor, text + first, length, text + first, length);
		at = first + length;
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

/* How a scan treats bytes. */
struct scan {
	struct relog_redactor *redactor;
	size_t string_min; /* scan only runs of at least this many characters between zero bytes; 0: scan any run */
	bool write;        /* false: only detect, do not overwrite */
	bool found;
};

static bool is_utf8(const char *text, size_t size)
{
	uint32_t character;
	size_t at = 0, length;

	while (at < size && (length = common_utf8_read((const uint8_t *)text + at, size - at, &character)))
		at += length;
	return at == size;
}

/* Scans a run of characters that stand `step` bytes apart. */
static int scan_run(struct scan *scan, uint8_t *data, size_t count, size_t step)
{
	char *text = malloc(count + 1);
	bool touched = false;
	int status = 0;

	if (!text)
		return common_fail_memory("a text", count);
	for (size_t i = 0; i < count; i++)
		text[i] = (char)data[i * step];
	text[count] = 0;
	/* A run of instructions between zero bytes is hardly ever valid UTF-8. */
	if (!scan->string_min || is_utf8(text, count))
		status = overwrite_text(scan->redactor, text, count, &touched);
	for (size_t i = 0; i < count && touched && scan->write; i++)
		data[i * step] = (uint8_t)text[i];
	scan->found |= touched;
	free(text);
	return status;
}

/* Whether a zero byte, or an end of the data, stands on each side of a run. */
static bool is_string(const uint8_t *data, size_t size, size_t first, size_t end, size_t step)
{
	return (first < step || !data[first - step]) && (end >= size || !data[end]);
}

static bool is_wanted_text(const struct scan *scan, const uint8_t *data, size_t size, size_t first, size_t end,
			   size_t step)
{
	const size_t count = (end - first) / step;

	if (!scan->string_min)
		return count >= RELOG_WORD_MIN;
	return count >= scan->string_min && is_string(data, size, first, end, step);
}

static int scan_runs(struct scan *scan, uint8_t *data, size_t size, size_t step)
{
	size_t at = 0;
	int status = 0;

	while (at < size && !status) {
		size_t end = at;

		while (end < size && is_text_byte(data[end]) && (step == 1 || (end + 1 < size && !data[end + 1])))
			end += step;
		if (is_wanted_text(scan, data, size, at, end, step))
			status = scan_run(scan, data + at, (end - at) / step, step);
		at = end > at ? end : at + 1;
	}
	return status;
}

/* Overwrites each occurrence of a rule's text, encoded as `bytes`. step 2: the encoding is UTF-16. */
static int scan_bytes(struct scan *scan, uint8_t *data, size_t size, const char *text, const void *bytes, size_t length,
		      size_t step)
{
	uint8_t *at = data;
	int status = 0;

	while (!status && (at = memmem(at, size - (size_t)(at - data), bytes, length))) {
		char *token = malloc(length / step + 1);

		status = token ? relog_token_fill(scan->redactor, text, strlen(text), token, length / step)
			       : common_fail_memory("a token", length);
		for (size_t i = 0; i < length / step && !status && scan->write; i++) {
			at[i * step] = (uint8_t)token[i];
			if (step == 2)
				at[i * step + 1] = 0;
		}
		free(token);
		at += length;
		scan->found = true;
	}
	return status;
}

static int scan_literals(struct scan *scan, uint8_t *data, size_t size)
{
	const struct relog_texts *literals = &scan->redactor->rules->literals;
	int status = 0;

	for (size_t i = 0; i < literals->count && !status; i++) {
		const char *text = literals->list[i].text;
		struct ptl_bytes wide = {0};
		const bool found = scan->found;

		/* Shorter texts occur by chance. */
		if (strlen(text) < LITERAL_MIN)
			continue;
		scan->found = false;
		common_write_utf16(&wide, text);
		if (wide.failed)
			status = common_fail_memory("a text", strlen(text));
		if (!status)
			status = scan_bytes(scan, data, size, text, text, strlen(text), 1);
		if (!status)
			status = scan_bytes(scan, data, size, text, wide.data, wide.size - 2, 2);
		if (scan->found)
			relog_rule_met(scan->redactor, &literals->list[i]);
		scan->found |= found;
		common_bytes_free(&wide);
	}
	return status;
}

static int scan_all(struct scan *scan, uint8_t *data, size_t size)
{
	int status = size ? scan_literals(scan, data, size) : 0;

	if (!status)
		status = scan_runs(scan, data, size, 1);
	return status ? status : scan_runs(scan, data, size, 2);
}

int relog_redact_raw(struct relog_redactor *redactor, uint8_t *data, size_t size, bool *changed)
{
	struct scan scan = {.redactor = redactor, .write = true};
	const int status = scan_all(&scan, data, size);

	*changed |= scan.found;
	return status;
}

int relog_redact_find(struct relog_redactor *redactor, const uint8_t *data, size_t size, bool *found)
{
	struct scan scan = {.redactor = redactor, .string_min = RELOG_STRING_MIN};
	/* scan.write is false, so data is not modified. */
	const int status = scan_all(&scan, (uint8_t *)(uintptr_t)data, size);

	*found |= scan.found;
	return status;
}
