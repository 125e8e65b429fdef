/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions and expressions of --values. */
#ifndef RECORD_VALUE_SPEC_H
#define RECORD_VALUE_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VALUE_EXPRESSIONS_MAX 32u
#define VALUE_ACCESSES_MAX 16u

/* A step from a value to a part of the value, or to what it points to. */
struct value_access {
	enum { VALUE_MEMBER, VALUE_INDEX, VALUE_TARGET } kind;
	const char *name; /* VALUE_MEMBER */
	uint64_t index;   /* VALUE_INDEX */
};

/* A parameter, a global variable or "$return", and accesses in order. */
struct value_expression {
	const char *text;
	const char *root;
	bool result; /* the root is $return */
	struct value_access accesses[VALUE_ACCESSES_MAX];
	unsigned access_count;
};

/* "[FILE:]FUNCTION(EXPRESSION, ...)" */
struct value_spec {
	const char *text;
	const char *file; /* path, or name without folders; NULL: any file */
	const char *function;
	bool all; /* without brackets: all parameters, and the result */
	struct value_expression *expressions;
	size_t count;
	char *memory;
};

/* PTL_MISUSE: the text is no such function or expression; PTL_NO_MEMORY. A failed call leaves nothing to free. */
int value_spec_parse(const char *text, struct value_spec *spec);
void value_spec_free(struct value_spec *spec);
/* Returns whether the file of this path is meant. */
bool value_spec_is_in(const struct value_spec *spec, const char *path);

#endif
