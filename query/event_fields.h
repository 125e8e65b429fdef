/* SPDX-License-Identifier: BSD-2-Clause */
/* Fields of an event with a schema, for the names in an expression. A query_scope uses these functions. */
#ifndef QUERY_EVENT_FIELDS_H
#define QUERY_EVENT_FIELDS_H

#include "common/hash_map.h"
#include "query/payload.h"

/* Context of the functions below, or the first member of the context. Zero-initialised: empty. */
struct query_event_fields {
	struct common_arena arena;    /* memory of locations */
	struct common_hash_map bound; /* schema: locations */
	struct common_arena scratch;  /* memory of the current event; the evaluating function resets it */
	const struct ptl_event *event;
	const struct ptl_schema *schema;        /* NULL: no schema */
	const struct query_location *locations; /* locations of the fields in the schema */
	struct query_payload payload;
	struct query_loops loops;
};

void query_event_fields_free(struct query_event_fields *at);

/*
 * Sets the current event. fields: all fields that the expressions name. A schema must not change later. Returns
 * PTL_NO_MEMORY.
 */
int query_event_fields_set(struct query_event_fields *at, const struct query_fields *fields,
			   const struct ptl_event *event, const struct ptl_schema *schema);

/*
 * Evaluates the expression for the event. scope: the caller sets name, files, program, conditions, map, and a context
 * that begins with `at`. Returns as query_evaluate_truth.
 */
int query_event_truth(struct query_event_fields *at, struct query_scope *scope, const struct query_expr *expr,
		      bool *truth);

/* Callbacks for struct query_scope. */
int query_event_field(void *context, unsigned index, struct query_value *value);
bool query_event_number(void *context, unsigned index, query_number *number);
int query_event_elements(void *context, unsigned index, uint32_t *count, bool *there);

#endif
