/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump flow --where: evaluates an expression for blocks, with a cache for repeated blocks. */
#ifndef DUMP_FLOW_FLOW_WHERE_H
#define DUMP_FLOW_FLOW_WHERE_H

#include "dump/flow/flow.h"
#include "query/row.h"

extern const struct query_row_field dump_flow_fields[];

/* Not thread-safe. */
struct dump_flow_where;

/* Creates an evaluator. print and query must outlive it. Returns NULL without memory. */
struct dump_flow_where *dump_flow_where_new(const struct dump_flow_print *print, const struct query_row *query);
/* Frees the evaluator. Warns of blocks for which the expression failed. */
void dump_flow_where_free(struct dump_flow_where *where);

bool dump_flow_where_wants(struct dump_flow_where *where, const struct flow_segment *segment,
			   const struct flow_block *block, uint64_t time);

#endif
