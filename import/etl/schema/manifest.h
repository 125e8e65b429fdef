/* SPDX-License-Identifier: BSD-2-Clause */
/* Instrumentation manifests: those that EventSource writes into the trace in pieces, and those that users have. */
#ifndef IMPORT_ETL_SCHEMA_MANIFEST_H
#define IMPORT_ETL_SCHEMA_MANIFEST_H

#include "import/etl/schema/known.h"

#define ETL_MANIFEST_EVENT 65534u /* id of EventSource's events that carry manifests */

/*
 * Adds what a manifest (UTF-8, or UTF-16 with its mark) says of events, and writes its names of numbers. What it says
 * wrongly is left out. PTL_NO_MEMORY, and what the writer returns.
 */
int etl_manifest_read(struct etl_known *known, struct ptl_writer *writer, const char *text, size_t size);

/* Pieces of manifests on their way. Zero-initialised is empty. */
struct etl_pieces {
	struct etl_piece *list;
	size_t count;
	size_t bytes; /* that they take */
};

void etl_pieces_free(struct etl_pieces *pieces);
/* How many manifests lack pieces. */
size_t etl_pieces_incomplete(const struct etl_pieces *pieces);
/* Takes an event that carries a piece, in any order; reads a manifest once it is whole. As etl_manifest_read. */
int etl_pieces_take(struct etl_pieces *pieces, struct etl_known *known, struct ptl_writer *writer,
		    const struct etl_record *record);

#endif
