/* SPDX-License-Identifier: BSD-2-Clause */
/* What an expression is while it is computed, and how it meets the fields of a payload. */
#ifndef QUERY_VALUE_H
#define QUERY_VALUE_H

#include <ptl/event.h>

#include "query/expression.h"

enum query_value_kind {
	QUERY_VALUE_NONE, /* a field, or an element, that this event does not have */
	QUERY_VALUE_NUMBER,
	QUERY_VALUE_REAL,
	QUERY_VALUE_TEXT, /* bytes, too; UTF-16 has become UTF-8 */
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

/* "a number", "a text", ... */
const char *query_value_name(const struct query_value *value);

/* A field as a value; texts are copied to scratch where they have to be converted. PTL_NO_MEMORY. */
int query_value_of_field(const struct ptl_value *field, struct common_arena *scratch, struct query_value *value);

/*
 * A value for a field of field->field's type: sets u, i, f, bytes and size. NULL: it fits; else what was expected
 * ("a number of 0 to 255"). *status is PTL_NO_MEMORY without memory.
 */
const char *query_value_to_field(const struct query_value *value, struct common_arena *scratch, struct ptl_value *field,
				 int *status);

#endif
