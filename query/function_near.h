/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists function names for messages: names that are similar to a text, and all names that a text stands for. */
#ifndef QUERY_FUNCTION_NEAR_H
#define QUERY_FUNCTION_NEAR_H

#include <stddef.h>

#define QUERY_NAMES_MAX 3
#define QUERY_NAME_SIZE 128 /* of a listed name, with the terminating zero */

/* Different names without parameters and template arguments: the shortest, in the order of size and letters. */
struct query_function_names {
	char names[QUERY_NAMES_MAX][QUERY_NAME_SIZE];
	size_t count;
	size_t more; /* names that did not fit, possibly counted several times */
	char text[QUERY_NAMES_MAX * (QUERY_NAME_SIZE + 8) + 32];
};

/* Adds a demangled function name. Omits names with 128 bytes or more. */
void query_function_names_add(struct query_function_names *names, const char *name);
/* Returns "A, B, C and others", stored in *names. */
const char *query_function_names_text(struct query_function_names *names);

/* Names that are similar to a text without a match. Set `text`; zero-initialise the rest. */
struct query_near {
	const char *text;
	unsigned distance; /* of all listed names */
	struct query_function_names names;
	char question[QUERY_NAMES_MAX * (QUERY_NAME_SIZE + 8) + 64];
};

/*
 * Considers a demangled function name. A name is near if at most two edits, and no more than a third of the letters,
 * lead to the text; else if only the scopes differ; else if the name contains the text. The nearest names are listed.
 */
void query_near_look(struct query_near *near, const char *name);
/* Returns " (did you mean 'A', 'B' or 'C'?)"; "" without a near name. The text is stored in *near. */
const char *query_near_question(struct query_near *near);

#endif
