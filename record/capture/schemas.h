/* SPDX-License-Identifier: BSD-2-Clause */
/* The schemas of a capture, for reading fields of events. */
#ifndef RECORD_CAPTURE_SCHEMAS_H
#define RECORD_CAPTURE_SCHEMAS_H

#include <ptl/event.h>

#include "common/hash_map.h"

/* Zero-initialised: empty. */
struct record_schemas {
	struct common_byte_map map;  /* struct ptl_schema * by struct key */
	struct common_byte_map maps; /* maps of field values: struct ptl_map * by provider and name */
};

void record_schemas_free(struct record_schemas *schemas);
/* Adds a copy of the schema. Keeps an earlier schema of the same events, as readers do. Fails with PTL_NO_MEMORY. */
int record_schemas_add(struct record_schemas *schemas, const struct ptl_schema *schema);
/* Adds a copy of a map of field values. Ignores other maps. Fails with PTL_NO_MEMORY. */
int record_schemas_add_map(struct record_schemas *schemas, const struct ptl_map *map);
/* Returns the map that a field names; NULL if unknown. */
const struct ptl_map *record_schemas_map(const struct record_schemas *schemas, const struct ptl_guid *provider,
					 const char *name);
/* Returns NULL if no schema describes the events. A returned schema stays valid. */
const struct ptl_schema *record_schemas_find(const struct record_schemas *schemas,
					     const struct ptl_descriptor *descriptor);
/* Returns the next schema in any order; NULL at the end. The caller starts with *at = 0. */
const struct ptl_schema *record_schemas_next(const struct record_schemas *schemas, size_t *at);

#endif
