/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of the numbers in events of .NET's runtime. docs/etl.md names their sources. */
#ifndef IMPORT_ETL_SCHEMA_CLR_MAP_H
#define IMPORT_ETL_SCHEMA_CLR_MAP_H

#include "import/etl/schema/known.h"

/* The name of the map of an event's field ("Task/Opcode", "Reason"); NULL: it has none. */
const char *etl_clr_map_of(const char *event, const char *field);

/*
 * Writes the maps of an event of the runtime, each once for a provider; of other providers' events nothing. PTL_NO_MEMORY,
 * and what the writer returns.
 */
int etl_clr_maps_write(struct etl_known *known, struct ptl_writer *writer, const struct etl_schema *schema);

#endif
