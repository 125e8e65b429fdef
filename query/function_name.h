/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of functions, as people type them. */
#ifndef QUERY_FUNCTION_NAME_H
#define QUERY_FUNCTION_NAME_H

#include <stdbool.h>

/*
 * Whether the text, which may have * and ?, means the function of this name: all of it, or without what C++ puts before the name
 * (what a template returns), behind it (the parameters, const), or both.
 */
bool query_function_is_called(const char *name, const char *text);

#endif
