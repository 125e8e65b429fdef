/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds a function in a file, and the values that a specification asks for. */
#ifndef RECORD_VALUE_FUNCTION_H
#define RECORD_VALUE_FUNCTION_H

#include "record/value/file.h"
#include "record/value/type.h"

/* Fields of a function at its entry or return. Addresses are the file's own. */
struct value_function {
	uint64_t entry;
	uint64_t pc; /* the place at the entry, or behind the function's first instructions */
	uint64_t ranges[CHANNEL_VALUE_RANGES_MAX][2];
	uint32_t range_count;
	bool inlined; /* callers contain copies of the function, whose values are not read */
	struct value_fields fields, results;
};

/*
 * Calls `found` for each function of the specification's name, until `found` fails. The functions' names of types are
 * valid during the call. *count: number of functions. note: why a function's values are not read, "" otherwise.
 */
int value_function_find(const struct value_file *file, const struct value_spec *spec,
			int (*found)(void *context, const struct value_file *file, struct value_function *function),
			void *context, size_t *count, char note[256]);

#endif
