/* SPDX-License-Identifier: BSD-2-Clause */
/* Budget for the metadata of a trace. */
#ifndef IMPORT_ETL_SCHEMA_BUDGET_H
#define IMPORT_ETL_SCHEMA_BUDGET_H

#include <stdbool.h>
#include <stddef.h>

#include <ptl/writer.h>

/*
 * Budget for metadata. A trace has limits (docs/format.md 5), which the descriptions of a hostile file must not exceed.
 */
struct etl_budget {
	size_t items, bytes; /* spent so far */
};

/*
 * Spends the budget for metadata items (records, fields or entries) of so many bytes. Returns false, and spends
 * nothing, if the budget is too small.
 */
bool etl_budget_spend(struct etl_budget *budget, size_t items, size_t bytes);

/* Writes a map, unless the budget is spent. Returns PTL_NO_MEMORY, and the errors of the writer. */
int etl_map_write(struct etl_budget *budget, struct ptl_writer *writer, const struct ptl_map *map);

#endif
