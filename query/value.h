/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of expressions, and conversion from and to payload fields. */
#ifndef QUERY_VALUE_H
#define QUERY_VALUE_H

#include <ptl/event.h>

#include "query/expression.h"

enum query_value_kind {
	QUERY_VALUE_NONE, /* the event lacks the field or element */
	QUERY_VALUE_NUMBER,
	QUERY_VALUE_REAL,
	QUERY_VALUE_TEXT, /* also bytes; UTF-16 was converted to UTF-8 */
	QUERY_VALUE_BOOL,
};

struct query_value {
	enum query_value_kind kind;
	bool truth;
	query_number number;
	double real;
	const char *text; /* in the scratch arena, in the payload, or in the tree */
	size_t size;
};

/* Returns "a number", "a text", ... */
const char *query_value_name(const struct query_value *value);

/* Converts a field to a value. Converted texts are in scratch. Returns PTL_NO_MEMORY. */
int query_value_of_field(const struct ptl_value *field, struct common_arena *scratch, struct query_value *value);

/*
 * Converts a value to the type of field->field: sets u, i, f, bytes and size. Returns NULL on success; else the
 * expected value ("a number of 0 to 255"). *status is PTL_NO_MEMORY without memory.
 */
const char *query_value_to_field(const struct query_value *value, struct common_arena *scratch, struct ptl_value *field,
				 int *status);

#endif
