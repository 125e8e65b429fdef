/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes a trace of an .etl file, as Event Tracing for Windows writes it. docs/etl.md says what is read. */
#ifndef IMPORT_ETL_INPUT_H
#define IMPORT_ETL_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/writer.h>

#include "import/etl/file/file.h"

struct etl_outcome {
	char damage[256];                   /* the first thing that could not be read, or "" */
	uint64_t damaged_buffers;           /* that could not be read, or not to their end */
	uint64_t lost_events, lost_buffers; /* that Windows could not write */
	uint64_t unexplained;               /* events that no schema explains */
	uint64_t incomplete_manifests;      /* manifests in the file that lack pieces */
	uint64_t cut;                       /* events with a field of unknown size, from which on they are bytes */
};

struct etl_options {
	int (*check)(void); /* called now and then; what is not 0 ends the import, which returns it. May be NULL */
	/* Files of instrumentation manifests, which count before those in the file. */
	const char *const *manifests;
	size_t manifest_count;
};

/*
 * Writes the whole content but the provenance record. fd can be sought, and stays the caller's. Damage is no failure: it
 * is in *outcome, and in loss records. What etl_file_open and the writer return, and what the manifests' files and
 * contents fail with.
 */
int etl_import(int fd, const struct etl_options *options, struct ptl_writer *writer, struct etl_outcome *outcome);

#endif
