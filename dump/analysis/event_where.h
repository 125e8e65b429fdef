/* SPDX-License-Identifier: BSD-2-Clause */
/* Conditions on the fields of events, as in --where 'UserName == "Zoe" && Count > 3'. */
#ifndef DUMP_ANALYSIS_EVENT_WHERE_H
#define DUMP_ANALYSIS_EVENT_WHERE_H

#include <stdbool.h>
#include <stddef.h>

#include <ptl/event.h>

#include "dump/print/value.h"

#define DUMP_CONDITIONS_MAX 32

struct dump_condition;

/* All conditions have to hold. Zero-initialised: none, which everything meets. */
struct dump_where {
	struct dump_condition *conditions; /* DUMP_CONDITIONS_MAX of them, once there is one */
	size_t count;
};

/*
 * Adds "FIELD OP VALUE", or several joined with &&. FIELD is a name as dump_json_payload shows it, members of
 * structures as Outer.Inner. OP is == != < <= > >=, ~ (the value's text matches a glob pattern) or & (a number
 * has one of these bits). VALUE is a number, a word, or a text in single or double quotes, where \" \' \\ \n and
 * \t stand for what they do in C. PTL_MISUSE with a text that shows the place; PTL_NO_MEMORY.
 */
int dump_where_add(struct dump_where *where, const char *text);
void dump_where_free(struct dump_where *where);

/*
 * Whether an event's payload meets all conditions. A field with several elements meets one if any element does;
 * a field that is not there meets none, not even !=. Numbers are compared with numbers by value; everything else
 * as the text that is shown, names of maps for one, GUIDs in any case.
 */
bool dump_where_matches(const struct dump_where *where, struct dump_values *values, const struct ptl_schema *schema,
			const uint8_t *payload, size_t size);

/* The field of a condition; NULL behind the last. */
const char *dump_where_field(const struct dump_where *where, size_t i);

#endif
