/* SPDX-License-Identifier: BSD-2-Clause */
/* Rewrites demangled names of C++ and Rust functions: without parameters, template arguments, return type. */
#ifndef QUERY_NAME_FORM_H
#define QUERY_NAME_FORM_H

#include <stdbool.h>

#include "common/bytes.h"

/* How much of parameter lists a form keeps. */
enum query_name_parameters {
	QUERY_PARAMETERS_NONE,
	QUERY_PARAMETERS_INNER, /* those of enclosing functions and lambdas */
	QUERY_PARAMETERS_ALL,
};

/* How a form writes a Rust qualifier, "<String as Clone>" or "<impl Clone for String>". */
enum query_name_qualifier {
	QUERY_QUALIFIER_WHOLE,
	QUERY_QUALIFIER_TYPE,  /* "String" */
	QUERY_QUALIFIER_TRAIT, /* "Clone" */
};

/* All members zero: the short name that text output shows. */
struct query_name_form {
	bool keeps_arguments; /* template arguments; blanks remain only between two words */
	enum query_name_parameters parameters;
	enum query_name_qualifier qualifier;
	/*
	 * For comparisons: without anonymous namespaces, prefixes such as "non-virtual thunk to ", "[clone .cold]" and
	 * "@plt" behind the name, and the brackets of Go's "(*T)".
	 */
	bool is_bare;
	bool drops_clones; /* with is_bare: also drops ".constprop.0" and the like of C */
};

/*
 * Appends the form of a name. Every form names std::string instead of std::__cxx11::basic_string<char, ...>, and omits
 * return types and the inline namespaces __cxx11 and __1. From a bracket without a partner on, the name is copied.
 * Returns whether the name has a qualifier with a trait.
 */
bool query_name_form(const char *name, const struct query_name_form *form, struct ptl_bytes *text);

/*
 * Appends the short name, for text that people read: "shop::Pool::run" for "void shop::Pool<int>::run<char>(char)
 * const". A name with a path, as runtimes of other languages write it, stays as it is.
 */
void query_short_name(const char *name, struct ptl_bytes *text);

/* Returns the address behind the operator's symbol, for text at "operator"; behind "operator" for words. */
const char *query_name_operator_end(const char *text);
/* Whether text + at begins the word "operator". */
bool query_name_is_operator(const char *text, const char *at);

#endif
