/* SPDX-License-Identifier: BSD-2-Clause */
/* Matches names of functions as users type them. */
#ifndef QUERY_FUNCTION_NAME_H
#define QUERY_FUNCTION_NAME_H

#include <stdbool.h>

/*
 * Whether the text, which may have * and ?, matches the function name: the full name, or the name without the C++ parts
 * before (return type of a template) or behind (parameters, const), or without both.
 */
bool query_function_is_called(const char *name, const char *text);

#endif
