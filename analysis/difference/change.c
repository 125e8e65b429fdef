/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses unified diffs: collects the lines of each new file that begin with "+". */
#include "analysis/difference/change.h"

#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/text/text.h"
#include "common/vector.h"

/* Reads a diff line by line. */
struct reading {
	struct analysis_changes *changes;
	const char *name; /* for messages */
	const char *at, *end;
	const char *line;
	size_t size, number;
	bool any; /* a file header was found */
};

static bool next_line(struct reading *reading)
{
	const char *newline;

	if (reading->at >= reading->end)
		return false;
	newline = memchr(reading->at, '\n', (size_t)(reading->end - reading->at));
	reading->line = reading->at;
	reading->at = newline ? newline + 1 : reading->end;
	reading->size = (size_t)((newline ? newline : reading->end) - reading->line);
	reading->number++;
	return true;
}

static bool begins_with(const struct reading *reading, const char *with)
{
	return reading->size >= strlen(with) && memcmp(reading->line, with, strlen(with)) == 0;
}

static int fail_reading(const struct reading *reading, const char *why)
{
	return common_fail(PTL_CORRUPT, "%s:%zu: %s", reading->name, reading->number, why);
}

/* ---- names of files ------------------------------------------------------------------------------ */

/* Decodes an escape sequence after the backslash, in a name that git quotes. */
static char unescape(const char **at, const char *end)
{
	static const char letters[] = "abtnvfr", values[] = "\a\b\t\n\v\f\r";
	const char *letter = strchr(letters, **at);
	unsigned value = 0;

	if (letter && *letter) {
		(*at)++;
		return values[letter - letters];
	}
	if (**at < '0' || **at > '7')
		return *(*at)++;
	for (int i = 0; i < 3 && *at < end && **at >= '0' && **at <= '7'; i++)
		value = value * 8 + (unsigned)(*(*at)++ - '0');
	return (char)value;
}

/*
 * Adds a changed file. Forms of the path: b/dir/name, "b/dir/na\303\244me" (quoted by git), or followed by a tab and a
 * time.
 */
static int add_file(struct reading *reading)
{
	struct analysis_changes *changes = reading->changes;
	const char *at = reading->line + 4, *end = reading->line + reading->size;
	char *path = malloc(reading->size + 1), *to = path;

	if (!path || !common_vector_room(&changes->files, changes->file_count, sizeof(*changes->files))) {
		free(path);
		return common_fail_memory("names of files", reading->size);
	}
	if (at < end && *at == '"') {
		for (at++; at < end && *at != '"';) {
			if (*at == '\\' && ++at < end)
				*to++ = unescape(&at, end);
			else if (at < end)
				*to++ = *at++;
		}
	} else {
		while (at < end && *at != '\t' && *at != '\r')
			*to++ = *at++;
	}
	*to = 0;
	changes->files[changes->file_count++] = (struct analysis_changed_file){.path = path,
									       .first = changes->span_count};
	reading->any = true;
	return 0;
}

/* ---- lines --------------------------------------------------------------------------------------- */

static int add_line(struct analysis_changes *changes, uint64_t line)
{
	struct analysis_changed_file *file = &changes->files[changes->file_count - 1];
	struct analysis_changed_span *last = file->count ? &changes->spans[changes->span_count - 1] : NULL;

	if (line == 0 || line > UINT32_MAX)
		return 0;
	if (last && line == (uint64_t)last->last + 1) {
		last->last = (uint32_t)line;
		return 0;
	}
	if (!common_vector_room(&changes->spans, changes->span_count, sizeof(*changes->spans)))
		return common_fail_memory("changed lines", changes->span_count * sizeof(*changes->spans));
	changes->spans[changes->span_count++] = (struct analysis_changed_span){(uint32_t)line, (uint32_t)line};
	file->count++;
	return 0;
}

/* Reads digits. Returns false for no digits or more than ten. */
static bool take_number(const char **at, const char *end, uint64_t *number)
{
	const char *first = *at;

	*number = 0;
	for (; *at < end && **at >= '0' && **at <= '9' && *at - first < 10; (*at)++)
		*number = *number * 10 + (uint64_t)(**at - '0');
	return *at > first;
}

/* Reads a range "-3,4" or "+3". A missing count is 1. */
static bool take_range(const char **at, const char *end, char sign, uint64_t *first, uint64_t *count)
{
	*count = 1;
	if (*at >= end || **at != sign)
		return false;
	(*at)++;
	if (!take_number(at, end, first))
		return false;
	if (*at < end && **at == ',') {
		(*at)++;
		return take_number(at, end, count);
	}
	return true;
}

/* Reads a hunk: "@@ -3,4 +5,6 @@" and its lines. */
static int take_hunk(struct reading *reading)
{
	const char *at = reading->line + 3, *end = reading->line + reading->size;
	uint64_t old_line, old_count, line, count;
	int status = 0;

	if (!take_range(&at, end, '-', &old_line, &old_count) || at >= end || *at++ != ' ' ||
	    !take_range(&at, end, '+', &line, &count))
		return fail_reading(reading, "this is no hunk of a unified diff such as @@ -3,4 +5,6 @@");
	while (!status && (old_count || count)) {
		char kind;

		if (!next_line(reading))
			return fail_reading(reading, "the diff ends within a hunk");
		kind = reading->size ? *reading->line : ' ';
		if (kind == '\\')
			continue;
		if ((kind != '+' && kind != '-' && kind != ' ') || (kind != '-' && !count) ||
		    (kind != '+' && !old_count))
			return fail_reading(reading, "this line does not belong to its hunk");
		if (kind == '+')
			status = add_line(reading->changes, line);
		line += kind != '-';
		count -= kind != '-';
		old_count -= kind != '+';
	}
	return status;
}

int analysis_changes_parse(struct analysis_changes *changes, const char *name, const char *text, size_t size)
{
	struct reading reading = {.changes = changes, .name = name, .at = text, .end = text + size};
	int status = 0;

	while (!status && next_line(&reading)) {
		if (begins_with(&reading, "+++ "))
			status = add_file(&reading);
		else if (begins_with(&reading, "@@ ") && !reading.any)
			status = fail_reading(&reading, "a hunk without a line \"+++ FILE\" before it");
		else if (begins_with(&reading, "@@ "))
			status = take_hunk(&reading);
	}
	return status;
}

void analysis_changes_free(struct analysis_changes *changes)
{
	for (size_t i = 0; i < changes->file_count; i++)
		free(changes->files[i].path);
	free(changes->files);
	free(changes->spans);
	*changes = (struct analysis_changes){0};
}

/* ---- queries ------------------------------------------------------------------------------------- */

/* Whether the path equals `end`, or ends with a slash and `end`. */
static bool ends_with(const char *path, const char *end)
{
	const size_t size = strlen(path), end_size = strlen(end);

	return end_size && end_size <= size && strcmp(path + size - end_size, end) == 0 &&
	       (end_size == size || path[size - end_size - 1] == '/' || *end == '/');
}

static bool is_file(const struct analysis_changed_file *file, const char *path)
{
	const char *slash = strchr(file->path, '/');

	return ends_with(path, file->path) || (slash && ends_with(path, slash + 1));
}

bool analysis_changes_file(struct analysis_changes *changes, const char *path)
{
	bool any = false;

	for (size_t i = 0; i < changes->file_count; i++) {
		if (!is_file(&changes->files[i], path))
			continue;
		changes->files[i].is_met = true;
		any = true;
	}
	return any;
}

bool analysis_changes_line(const struct analysis_changes *changes, const char *path, uint32_t line)
{
	for (size_t i = 0; i < changes->file_count; i++) {
		const struct analysis_changed_file *file = &changes->files[i];

		if (!file->count || !is_file(file, path))
			continue;
		for (size_t k = 0; k < file->count; k++)
			if (line >= changes->spans[file->first + k].first &&
			    line <= changes->spans[file->first + k].last)
				return true;
	}
	return false;
}
