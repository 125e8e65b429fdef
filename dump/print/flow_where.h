/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump flow --where: whether a block will do, remembered for code that is executed again. */
#ifndef DUMP_PRINT_FLOW_WHERE_H
#define DUMP_PRINT_FLOW_WHERE_H

#include "query/row.h"
#include "dump/print/flow.h"

extern const struct query_row_field dump_flow_fields[];

/* For one thread at a time. */
struct dump_flow_where;

/* print and query outlive it; NULL without memory. */
struct dump_flow_where *dump_flow_where_new(const struct dump_flow_print *print, const struct query_row *query);
/* Warns of blocks that the expression could not be computed of. */
void dump_flow_where_free(struct dump_flow_where *where);

bool dump_flow_where_wants(struct dump_flow_where *where, const struct flow_segment *segment,
			   const struct flow_block *block, uint64_t time);

#endif
