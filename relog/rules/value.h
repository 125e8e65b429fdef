/* SPDX-License-Identifier: BSD-2-Clause */
/* What an expression is while a rule is applied, and how it meets the fields of a payload. */
#ifndef RELOG_RULES_VALUE_H
#define RELOG_RULES_VALUE_H

#include <ptl/event.h>

#include "relog/rules/ast.h"

enum rules_value_kind {
	RULES_VALUE_NONE, /* a field, or an element, that this event does not have */
	RULES_VALUE_NUMBER,
	RULES_VALUE_REAL,
	RULES_VALUE_TEXT, /* bytes, too; UTF-16 has become UTF-8 */
	RULES_VALUE_BOOL,
};

struct rules_value {
	enum rules_value_kind kind;
	bool truth;
	rules_number number;
	double real;
	const char *text; /* in the scratch arena, in the payload, or in the rules */
	size_t size;
};

/* "a number", "a text", ... */
const char *rules_value_name(const struct rules_value *value);

/* A field as a value; texts are copied to scratch where they have to be converted. PTL_NO_MEMORY. */
int rules_value_of_field(const struct ptl_value *field, struct rules_arena *scratch, struct rules_value *value);

/*
 * A value for a field of field->field's type: sets u, i, f, bytes and size. NULL: it fits; else what was expected
 * ("a number of 0 to 255"). *status is PTL_NO_MEMORY without memory.
 */
const char *rules_value_to_field(const struct rules_value *value, struct rules_arena *scratch, struct ptl_value *field,
				 int *status);

#endif
