/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Filters events by expressions: --where 'UserName == "Zoe" && Count > 3', with the names of ptl-rules(5) and
 * conditions on fields.
 */
#ifndef ANALYSIS_EVENT_EVENT_QUERY_H
#define ANALYSIS_EVENT_EVENT_QUERY_H

#include <stdbool.h>
#include <stddef.h>

#include <ptl/reader.h>

#include "analysis/event/value.h"
#include "flow/timeline/timeline.h"
#include "query/condition.h"
#include "query/event_fields.h"
#include "query/files.h"

/* A zero-initialised query matches every event. */
struct analysis_query {
	struct query_event_fields at; /* must come first: the context of its functions; the current event */
	struct common_arena arena;
	struct query_expr *expr; /* conjunction of all added expressions; NULL: none added */
	struct query_fields fields;
	struct query_conditions conditions;
	const char *option;                   /* name for messages; NULL: --where */
	const struct flow_timeline *timeline; /* programs of processes by time; NULL: unknown */
	uint64_t failures;                    /* events for which the expression failed: these do not match */
	char *failure;                        /* reason of the first failure; NULL: none failed */

	/* state of the current event */
	struct analysis_values *values;
	bool walked;              /* the conditions have been evaluated on the payload */
	uint64_t fulfilled, seen; /* bit sets of conditions: fulfilled; field exists */
	struct query_files files;
	struct ptl_bytes path, text, characters;
};

/*
 * Adds an expression. Conditions have the form FIELD OPERATOR VALUE. FIELD is a name as dump_json_payload writes it;
 * members of structures are Outer.Inner. A field with several elements fulfils a condition if any element does. Two
 * numbers are compared by value. All other values are compared as displayed text (such as names of maps); GUIDs are
 * case-insensitive. Returns PTL_MISUSE with a text that shows the place of the error, or PTL_NO_MEMORY.
 */
int analysis_query_add(struct analysis_query *query, const char *text);
void analysis_query_free(struct analysis_query *query);

/* Whether the event matches. A condition on a missing field is false, and so is its negation. */
bool analysis_query_matches(struct analysis_query *query, struct analysis_values *values, const struct ptl_event *event,
			    const struct ptl_schema *schema);

/* Returns required field number i as written; NULL: no more fields. *name: the last component of the field's name. */
const char *analysis_query_field(const struct analysis_query *query, size_t i, const char **name);
/* Call if no event matched. Prints a note about required fields that no event of the trace has. */
void analysis_query_note_fields(const struct analysis_query *query, const struct ptl_trace *trace);

#endif
