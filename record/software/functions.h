/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions by name in ELF files: what --start-at and --stop-at name. */
#ifndef RECORD_SOFTWARE_FUNCTIONS_H
#define RECORD_SOFTWARE_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Functions of one name that are looked for, at most. */
#define SOFTWARE_FUNCTIONS_MAX 3u

/* "FUNCTION" or "FILE:FUNCTION", taken apart. */
struct software_function {
	char file[4096]; /* base name or path; empty: any file */
	char name[512];
};

/* PTL_MISUSE: no function is named. */
int software_function_parse(const char *text, struct software_function *function);

/* Whether the function is looked for in the file of this path. */
bool software_function_is_in(const struct software_function *function, const char *path);

/*
 * Looks for the function in an ELF file. Returns how many there are, SOFTWARE_FUNCTIONS_MAX at most, and where their first
 * instructions are in the file. C++ and Rust functions have their names as in the source, with or without parameters.
 * near: if not NULL, the name of a function that may have been meant; empty: none.
 */
size_t software_function_find(const struct software_function *function, const char *path,
			      uint64_t offsets[SOFTWARE_FUNCTIONS_MAX], char *near, size_t near_size);

#endif
