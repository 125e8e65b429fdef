/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts, by kind, the data of a perf.data file that a trace has no place for. */
#ifndef IMPORT_PERF_LEFT_OUT_H
#define IMPORT_PERF_LEFT_OUT_H

#include <ptl/writer.h>

#include "common/bytes.h"
#include "perf/layout.h"

#define PERF_UNKNOWN_TYPES 64u /* number of unknown record types counted separately */

/* Zero-initialised: nothing is left out. */
struct perf_left_out {
	uint64_t records[PERF_RECORD_OWN_END]; /* by type: about perf's own work, or repeated in other records */
	uint64_t features[PERF_FEATURES];      /* of the header, by number of the feature */
	uint64_t exact;                        /* marks of samples: the address is of the very instruction */
	struct {
		uint32_t type;
		uint64_t count;
	} unknown[PERF_UNKNOWN_TYPES]; /* records of unknown types */
	size_t unknown_types;
	uint64_t more_unknown; /* records of further types */
};

void perf_left_out_unknown(struct perf_left_out *left_out, uint32_t type);
/* Writes a loss for each kind. Returns the status of ptl_writer_loss. */
int perf_left_out_write(const struct perf_left_out *left_out, struct ptl_writer *writer);
/* Appends "12 FINISHED_ROUND, 1 CPU_MAP, the feature CACHE" for records and features of known kinds. */
void perf_left_out_text(const struct perf_left_out *left_out, struct ptl_bytes *text);

#endif
