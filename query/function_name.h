/* SPDX-License-Identifier: BSD-2-Clause */
/* Matches names of functions as users type them. */
#ifndef QUERY_FUNCTION_NAME_H
#define QUERY_FUNCTION_NAME_H

#include <stdbool.h>

/* How a text names a function. */
enum query_function_match {
	QUERY_FUNCTION_OTHER, /* the text names another function */
	QUERY_FUNCTION_INNER, /* the text omits namespaces, classes or packages before the name */
	QUERY_FUNCTION_WHOLE, /* the text has the whole path */
};

/*
 * Matches a text, which may have * and ?, against a demangled function name. The text may omit the return type, the
 * scopes before the name ("Pool::run" or "run" for "shop::Pool<int>::run(int) const"), all template arguments, all
 * parameters, anonymous namespaces, and the suffixes of clones ("f.constprop.0", "f(int) [clone .cold]"). Rust's
 * "<shop::Pool as Price>::price" is also "Pool::price" and "Price::price". Go's "main.(*Pool).Run" is also "Pool.Run".
 * A text that begins with "::" has the whole path. Without memory, parts of the name do not match.
 */
enum query_function_match query_function_match(const char *name, const char *text);
/* Whether query_function_match finds any match. */
bool query_function_is_called(const char *name, const char *text);
/* Whether the name is that of a part or a copy of a function that a compiler made: "f.cold", "f() [clone .isra.0]". */
bool query_function_is_clone(const char *name);
/* Whether the text has * or ?, which can match many names. */
bool query_function_is_pattern(const char *text);

#endif
