/* SPDX-License-Identifier: BSD-2-Clause */
/* Instrumentation manifests, from users, or from EventSource, which writes manifests to the trace in pieces. */
#ifndef IMPORT_ETL_SCHEMA_MANIFEST_H
#define IMPORT_ETL_SCHEMA_MANIFEST_H

#include "import/etl/schema/known.h"

#define ETL_MANIFEST_EVENT 65534u /* id of EventSource's events with manifests */

/*
 * Adds the schemas of a manifest (UTF-8, or UTF-16 with byte order mark), and writes its maps. Skips invalid parts.
 * Returns PTL_NO_MEMORY, and the errors of the writer.
 */
int etl_manifest_read(struct etl_known *known, struct ptl_writer *writer, const char *text, size_t size);

/* Incomplete manifests. Zero-initialised: none. */
struct etl_pieces {
	struct etl_piece *list;
	size_t count;
	size_t bytes; /* bytes of all pieces */
};

void etl_pieces_free(struct etl_pieces *pieces);
/* Returns the number of manifests with missing pieces. */
size_t etl_pieces_incomplete(const struct etl_pieces *pieces);
/*
 * Adds a piece of a manifest. Pieces may come in any order. Reads the manifest when complete. Returns as
 * etl_manifest_read.
 */
int etl_pieces_take(struct etl_pieces *pieces, struct etl_known *known, struct ptl_writer *writer,
		    const struct etl_record *record);

#endif
