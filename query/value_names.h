/* SPDX-License-Identifier: BSD-2-Clause */
/* Value names in expressions: State == "Running", (Access & "Read|Write") != 0, Kind like "*Error". */
#ifndef QUERY_VALUE_NAMES_H
#define QUERY_VALUE_NAMES_H

#include "query/evaluate.h"

/* Returns the next entry with this name from index *at on, and sets *at behind the entry; NULL: no more entries. */
const struct ptl_map_entry *query_next_named(const struct ptl_map *map, size_t *at, const char *name, size_t size);

/*
 * Handles value names in the operands of a comparison or &, if one is a number and the other a text. If the number is a
 * field with value names, the text becomes the number with this name; for `like`, the number becomes its name.
 * Otherwise both stay unchanged. Returns PTL_CORRUPT for an unknown name; PTL_NO_MEMORY.
 */
int query_name_values(const struct query_scope *scope, const struct query_expr *expr, struct query_value *a,
		      struct query_value *b);

#endif
