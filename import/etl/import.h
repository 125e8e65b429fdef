/* SPDX-License-Identifier: BSD-2-Clause */
/* An .etl file on its way into a trace: what the parts of the import share. */
#ifndef IMPORT_ETL_IMPORT_H
#define IMPORT_ETL_IMPORT_H

#include <ptl/writer.h>

#include "common/bytes.h"
#include "import/etl/file/record.h"
#include "import/etl/file_name.h"
#include "import/etl/held.h"
#include "import/etl/image_id.h"
#include "import/etl/input.h"
#include "import/etl/method.h"
#include "import/etl/path.h"
#include "import/etl/schema/known.h"
#include "import/etl/schema/manifest.h"
#include "import/etl/stack.h"
#include "import/etl/thread.h"

/* Event streams; each holds times that do not go back. */
#define ETL_LANES_MAX 256u
#define ETL_ITEMS_MAX 70u /* extended items of an event */

struct etl_lane {
	uint32_t stream;
	uint64_t last;
};

struct etl_import {
	const struct etl_options *options;
	struct ptl_writer *writer;
	struct etl_file *file;
	struct ptl_machine machine;
	struct etl_known known;
	struct etl_pieces pieces;
	struct etl_paths paths;
	struct etl_stack_keys stack_keys;
	struct etl_stacks stacks;
	struct etl_held held;
	struct etl_threads threads;
	struct etl_image_ids image_ids;
	struct etl_file_names file_names;
	struct etl_methods methods;

	struct etl_lane lanes[ETL_LANES_MAX];
	size_t lane_count;
	size_t lane; /* that the last event went to */

	struct ptl_bytes storage; /* the payload of the event being written */
	struct etl_outcome outcome;
	uint64_t now; /* the latest time so far */
};

/* ---- clock.c */

/* Clock, start and wall time of the machine record. */
void etl_clock_set(struct etl_import *import);
/* Nanoseconds since 1970 of a FILETIME and of the 16 bytes of a SYSTEMTIME; the farthest there are, beyond. */
int64_t etl_clock_filetime(uint64_t filetime);
int64_t etl_clock_systemtime(const uint8_t *systemtime);
/* Ticks of the file's clock as nanoseconds of the trace's. */
uint64_t etl_clock_time(const struct etl_import *import, uint64_t ticks);

/* ---- event.c */

/* Writes an event into a stream whose times end before it. PTL_NO_MEMORY, PTL_SYSTEM. */
int etl_event_write(struct etl_import *import, const struct ptl_event *event);
/* Writes what a record of the buffer says. */
int etl_event_take(struct etl_import *import, const struct etl_buffer *buffer, struct etl_record *record);

/* ---- survey.c */

/*
 * Reads the whole file for what explains events, wherever it stands: a description often comes behind what it explains.
 * Damage is said when events are read. PTL_NO_MEMORY, PTL_SYSTEM.
 */
int etl_survey(struct etl_import *import);

/*
 * Makes the payload that the trace's schema explains, in storage where it is not the record's own. *lost: what did not
 * fit is left out. PTL_NO_MEMORY.
 */
int etl_payload(const struct etl_import *import, const struct etl_schema *schema, const struct etl_record *record,
		struct ptl_bytes *storage, const uint8_t **payload, size_t *size, bool *lost);

#endif
