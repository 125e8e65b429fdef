/* SPDX-License-Identifier: BSD-2-Clause */
/* What an event is asked by --where 'UserName == "Zoe" && Count > 3': expressions of ptl-rules(5), and conditions. */
#ifndef DUMP_EVENT_EVENT_QUERY_H
#define DUMP_EVENT_EVENT_QUERY_H

#include <stdbool.h>
#include <stddef.h>

#include <ptl/reader.h>

#include "dump/print/value.h"
#include "flow/timeline/timeline.h"
#include "query/condition.h"
#include "query/event_fields.h"
#include "query/files.h"

/* Zero-initialised asks nothing, and every event will do. */
struct dump_query {
	struct query_event_fields at; /* first: the context of its functions; the event at hand */
	struct common_arena arena;
	struct query_expr *expr; /* all that was added has to hold; NULL: nothing was */
	struct query_fields fields;
	struct query_conditions conditions;
	const struct flow_timeline *timeline; /* who runs which program; NULL: that is unknown */
	uint64_t failures;                    /* events that the expression cannot be computed of: they will not do */
	char *failure;                        /* why, of the first; NULL: there is none */

	/* of the event at hand */
	struct dump_values *values;
	bool walked;        /* conditions were held against the payload */
	uint64_t met, seen; /* conditions, by bit; whether their fields are there */
	struct query_files files;
	struct ptl_bytes path, text, characters;
};

/*
 * Adds an expression, in which conditions are FIELD OPERATOR VALUE. FIELD is a name as dump_json_payload shows it,
 * members of structures as Outer.Inner; a field with several elements meets a condition if any element does. Numbers
 * are compared with numbers by value; everything else as the text that is shown, names of maps for one, GUIDs in any
 * case. PTL_MISUSE with a text that shows the place; PTL_NO_MEMORY.
 */
int dump_query_add(struct dump_query *query, const char *text);
void dump_query_free(struct dump_query *query);

/* Whether an event will do. What is asked of a field that is not there is not so, nor is its opposite. */
bool dump_query_matches(struct dump_query *query, struct dump_values *values, const struct ptl_event *event,
			const struct ptl_schema *schema);

/* The i-th field, as written, that has to be there, and its own name without what it is in; NULL: there are no more. */
const char *dump_query_field(const struct dump_query *query, size_t i, const char **name);
/* Where no event will do: says which fields, that have to be there, no event of the trace has. */
void dump_query_note_fields(const struct dump_query *query, const struct ptl_trace *trace);

#endif
