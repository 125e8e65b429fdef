/* SPDX-License-Identifier: BSD-2-Clause */
/* The schemas of a capture, so that its events can be asked for their fields. */
#ifndef RECORD_CAPTURE_SCHEMAS_H
#define RECORD_CAPTURE_SCHEMAS_H

#include <ptl/event.h>

#include "common/hash_map.h"

/* Zero-initialised has none. */
struct record_schemas {
	struct common_byte_map map;  /* by what an event is found by: struct ptl_schema * */
	struct common_byte_map maps; /* of values of fields, by provider and name: struct ptl_map * */
};

void record_schemas_free(struct record_schemas *schemas);
/* Keeps a copy, unless there is one for the same events: as for readers, the first counts. PTL_NO_MEMORY. */
int record_schemas_add(struct record_schemas *schemas, const struct ptl_schema *schema);
/* The same for a map of values of fields; others are left out. PTL_NO_MEMORY. */
int record_schemas_add_map(struct record_schemas *schemas, const struct ptl_map *map);
/* The names of values, by what a field says of its map; NULL: there are none. */
const struct ptl_map *record_schemas_map(const struct record_schemas *schemas, const struct ptl_guid *provider,
					 const char *name);
/* NULL: nothing explains these events. What is found stays where it is. */
const struct ptl_schema *record_schemas_find(const struct record_schemas *schemas,
					     const struct ptl_descriptor *descriptor);
/* Walks all in no order: start with *at = 0; NULL at the end. */
const struct ptl_schema *record_schemas_next(const struct record_schemas *schemas, size_t *at);

#endif
