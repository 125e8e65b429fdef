/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of strings owned by another module, such as the words of the command line. */
#ifndef COMMON_TEXT_STRING_LIST_H
#define COMMON_TEXT_STRING_LIST_H

#include <stddef.h>

/* A zero-initialised list is empty. */
struct common_string_list {
	const char **list; /* owned array of borrowed strings, in order of addition */
	size_t count;
};

/* Adds a string; the pointer is kept. PTL_NO_MEMORY. */
int common_string_list_add(struct common_string_list *strings, const char *text);
void common_string_list_free(struct common_string_list *strings);

#endif
