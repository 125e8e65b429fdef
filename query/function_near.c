/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the names that a user most likely meant. */
#include "query/function_near.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/text/nearest.h"
#include "common/text/text.h"
#include "query/name_form.h"

#define CONTAINED_MIN 3 /* minimum length of a text searched within names */

/* Distances: numbers of edits, then these. */
enum { EDITS_MAX = 2, OTHER_SCOPE, CONTAINED, FAR };

/* Returns the last `count` components of a path of scopes. */
static const char *last_components(const char *path, size_t count)
{
	const char *at = path + strlen(path);

	while (at > path && !(strchr(":./", at[-1]) && --count == 0))
		at -= at > path + 1 && at[-1] == ':' && at[-2] == ':' ? 2 : 1;
	return at;
}

static size_t count_components(const char *path)
{
	size_t count = 1;

	for (; *path; path++)
		count += strchr("./", *path) || (path[0] == ':' && path[1] == ':');
	return count;
}

static unsigned distance_of(const char *text, const char *path)
{
	const char *tail = last_components(path, count_components(text));
	const size_t text_size = strlen(text), size = strlen(tail);
	const size_t gap = text_size > size ? text_size - size : size - text_size;
	size_t edits = FAR;

	if (gap <= EDITS_MAX && text_size <= COMMON_DISTANCE_MAX && size <= COMMON_DISTANCE_MAX)
		edits = common_word_distance(text, text_size, tail, size);
	if (edits <= EDITS_MAX && 3 * edits <= text_size)
		return (unsigned)edits;
	if (!strcmp(last_components(text, 1), last_components(path, 1)))
		return OTHER_SCOPE;
	return text_size >= CONTAINED_MIN && strcasestr(path, text) ? CONTAINED : FAR;
}

/* Orders names by size, then by letters. Results do not depend on the order of calls. */
static bool is_before(const char *a, const char *b)
{
	const size_t a_size = strlen(a), b_size = strlen(b);

	return a_size != b_size ? a_size < b_size : strcmp(a, b) < 0;
}

/* Adds a name without parameters and template arguments. */
static void add_path(struct query_function_names *names, const char *path)
{
	size_t at = 0;

	while (at < names->count && is_before(names->names[at], path))
		at++;
	if (at < names->count && !strcmp(names->names[at], path))
		return;
	names->more += names->count == QUERY_NAMES_MAX;
	if (at == QUERY_NAMES_MAX)
		return;
	names->count += names->count < QUERY_NAMES_MAX;
	memmove(names->names + at + 1, names->names + at, (names->count - 1 - at) * sizeof(names->names[0]));
	snprintf(names->names[at], sizeof(names->names[at]), "%s", path);
}

/* Returns the name's path of scopes, in *text; NULL if the path is too long. */
static const char *path_of(const char *name, struct ptl_bytes *text)
{
	static const struct query_name_form form = {.is_bare = true, .drops_clones = true};

	(void)query_name_form(name, &form, text);
	return text->size && text->size < QUERY_NAME_SIZE ? common_text_string(text) : NULL;
}

void query_function_names_add(struct query_function_names *names, const char *name)
{
	struct ptl_bytes text = {0};
	const char *path = path_of(name, &text);

	if (path)
		add_path(names, path);
	common_bytes_free(&text);
}

/* Joins the names. quote: surrounds each name. last: separator before the last name. */
static size_t write_names(struct query_function_names *names, const char *quote, const char *last)
{
	size_t at = 0;

	names->text[0] = '\0';
	for (size_t i = 0; i < names->count; i++) {
		const bool is_last = i + 1 == names->count && !names->more;

		at += (size_t)snprintf(names->text + at, sizeof(names->text) - at, "%s%s%s%s",
				       i == 0    ? ""
				       : is_last ? last
						 : ", ",
				       quote, names->names[i], quote);
	}
	return at;
}

const char *query_function_names_text(struct query_function_names *names)
{
	const size_t at = write_names(names, "", " and ");

	if (names->more)
		snprintf(names->text + at, sizeof(names->text) - at, " and others");
	return names->text;
}

void query_near_look(struct query_near *near, const char *name)
{
	struct ptl_bytes text = {0};
	const char *path = path_of(name, &text);
	const unsigned distance = path ? distance_of(near->text, path) : FAR;

	if (distance < FAR && near->names.count && distance < near->distance)
		near->names = (struct query_function_names){0};
	if (distance < FAR && (!near->names.count || distance == near->distance)) {
		near->distance = distance;
		add_path(&near->names, path);
	}
	common_bytes_free(&text);
}

const char *query_near_question(struct query_near *near)
{
	near->names.more = 0;
	write_names(&near->names, "'", " or ");
	if (near->names.count)
		snprintf(near->question, sizeof(near->question), " (did you mean %s?)", near->names.text);
	return near->question;
}
