/* SPDX-License-Identifier: BSD-2-Clause */
/* Value names of fields in .NET runtime events. docs/etl.md names the sources. */
#ifndef IMPORT_ETL_SCHEMA_CLR_MAP_H
#define IMPORT_ETL_SCHEMA_CLR_MAP_H

#include "import/etl/schema/known.h"

/* Returns the name of a field's map; NULL: no map. event: "Task/Opcode". field: for example "Reason". */
const char *etl_clr_map_of(const char *event, const char *field);

/*
 * Writes the maps of a runtime event, each once per provider. Does nothing for other events. Returns PTL_NO_MEMORY, and
 * the errors of the writer.
 */
int etl_clr_maps_write(struct etl_known *known, struct ptl_writer *writer, const struct etl_schema *schema);

#endif
