/* SPDX-License-Identifier: BSD-2-Clause */
/* What the names of an expression stand for in an event that a schema explains: a scope takes these functions. */
#ifndef QUERY_EVENT_FIELDS_H
#define QUERY_EVENT_FIELDS_H

#include "common/hash_map.h"
#include "query/payload.h"

/* The context of the functions below is this, or a structure that begins with it. Zero-initialised is empty. */
struct query_event_fields {
	struct common_arena arena;    /* of locations */
	struct common_hash_map bound; /* locations, by schema */
	struct common_arena scratch;  /* of the event at hand, and reset by who evaluates */
	const struct ptl_event *event;
	const struct ptl_schema *schema;        /* NULL: nothing explains it */
	const struct query_location *locations; /* of the fields in the schema */
	struct query_payload payload;
	struct query_loops loops;
};

void query_event_fields_free(struct query_event_fields *at);

/* The event that is asked from now on. fields: all that expressions name; a schema stays as it is. PTL_NO_MEMORY. */
int query_event_fields_set(struct query_event_fields *at, const struct query_fields *fields,
			   const struct ptl_event *event, const struct ptl_schema *schema);

/*
 * Whether the expression holds for the event. scope: what is the caller's own in it, that is the name, files, program, conditions and maps, and
 * the context, which begins with at. As query_evaluate_truth.
 */
int query_event_truth(struct query_event_fields *at, struct query_scope *scope, const struct query_expr *expr,
		      bool *truth);

/* For struct query_scope. */
int query_event_field(void *context, unsigned index, struct query_value *value);
bool query_event_number(void *context, unsigned index, query_number *number);
int query_event_elements(void *context, unsigned index, uint32_t *count, bool *there);

#endif
