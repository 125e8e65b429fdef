/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of values in expressions: State == "Running", (Access & "Read|Write") != 0, Kind like "*Error". */
#ifndef QUERY_VALUE_NAMES_H
#define QUERY_VALUE_NAMES_H

#include "query/evaluate.h"

/* The next entry of this name from number *at on, which becomes that behind it; NULL: there is none. */
const struct ptl_map_entry *query_next_named(const struct ptl_map *map, size_t *at, const char *name, size_t size);

/*
 * The operands of a comparison or &, one a number and the other a text: where the number is that of a field whose values
 * have names, the text becomes the number that has this name, or for like the number its name. Otherwise both
 * stay as they are. PTL_CORRUPT: no value has this name; PTL_NO_MEMORY.
 */
int query_name_values(const struct query_scope *scope, const struct query_expr *expr, struct query_value *a,
		      struct query_value *b);

#endif
