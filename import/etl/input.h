/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts an .etl file of Event Tracing for Windows to a trace. docs/etl.md says what is read. */
#ifndef IMPORT_ETL_INPUT_H
#define IMPORT_ETL_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/writer.h>

#include "import/etl/file/file.h"

struct etl_outcome {
	char damage[256];                   /* first unreadable data, or "" */
	uint64_t damaged_buffers;           /* unreadable or partly readable buffers */
	uint64_t lost_events, lost_buffers; /* losses counted by Windows */
	uint64_t unexplained;               /* events without a schema */
	uint64_t incomplete_manifests;      /* manifests in the file with missing pieces */
	uint64_t cut;                       /* events with a field of unknown size; the rest of the payload is bytes */
};

struct etl_options {
	int (*check)(void); /* called now and then; a non-zero result ends the import and is returned. May be NULL. */
	/* Names of instrumentation manifests, which take precedence over manifests in the file. */
	const char *const *manifests;
	size_t manifest_count;
};

/*
 * Writes all content except the provenance record. fd must be seekable, and stays the caller's. Damage is no failure:
 * damage is reported in *outcome, and as loss records. Returns the errors of etl_file_open, of the writer, and of
 * reading the manifests.
 */
int etl_import(int fd, const struct etl_options *options, struct ptl_writer *writer, struct etl_outcome *outcome);

#endif
