/* SPDX-License-Identifier: BSD-2-Clause */
/* The schemas of a capture, so that its events can be asked for their fields. */
#ifndef RECORD_CAPTURE_SCHEMAS_H
#define RECORD_CAPTURE_SCHEMAS_H

#include <ptl/event.h>

#include "common/hash_map.h"

/* Zero-initialised has none. */
struct record_schemas {
	struct common_byte_map map; /* by what an event is found by: struct ptl_schema * */
};

void record_schemas_free(struct record_schemas *schemas);
/* Keeps a copy, unless there is one for the same events: as for readers, the first counts. PTL_NO_MEMORY. */
int record_schemas_add(struct record_schemas *schemas, const struct ptl_schema *schema);
/* NULL: nothing explains these events. What is found stays where it is. */
const struct ptl_schema *record_schemas_find(const struct record_schemas *schemas,
					     const struct ptl_descriptor *descriptor);
/* Walks all in no order: start with *at = 0; NULL at the end. */
const struct ptl_schema *record_schemas_next(const struct record_schemas *schemas, size_t *at);

#endif
