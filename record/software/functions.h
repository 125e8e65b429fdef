/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds functions of --start-at and --stop-at in ELF files. */
#ifndef RECORD_SOFTWARE_FUNCTIONS_H
#define RECORD_SOFTWARE_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* maximal number of functions with the same name */
#define SOFTWARE_FUNCTIONS_MAX 3u

/* Parsed form of "FUNCTION" or "FILE:FUNCTION", a text that lives as long. */
struct software_function {
	char file[4096]; /* base name or path; empty: any file */
	const char *name;
};

/* PTL_MISUSE: no function is named, or the name of the file is too long. */
int software_function_parse(const char *text, struct software_function *function);

/* Returns whether the file of this path is searched for the function. */
bool software_function_is_in(const struct software_function *function, const char *path);

/*
 * Searches an ELF file for the function. Returns the number of matches, at most SOFTWARE_FUNCTIONS_MAX, and the file
 * offsets of their first instructions. Functions match as in query/function_name.h; a whole path has precedence over
 * omitted scopes, which match in programs and in the file that `function` names.
 * near: if not NULL, receives a similar function name, or "" if no name is similar.
 */
size_t software_function_find(const struct software_function *function, const char *path,
			      uint64_t offsets[SOFTWARE_FUNCTIONS_MAX], char *near, size_t near_size);

#endif
