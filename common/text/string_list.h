/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of strings that belong to somebody else, such as the command line. */
#ifndef COMMON_TEXT_STRING_LIST_H
#define COMMON_TEXT_STRING_LIST_H

#include <stddef.h>

/* Zero-initialised is empty. */
struct common_string_list {
	const char **list; /* owned array, in the order added */
	size_t count;
};

/* Keeps text by pointer; PTL_NO_MEMORY. */
int common_string_list_add(struct common_string_list *strings, const char *text);
void common_string_list_free(struct common_string_list *strings);

#endif
