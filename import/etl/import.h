/* SPDX-License-Identifier: BSD-2-Clause */
/* State of an import of an .etl file, shared by the parts of the import. */
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

/* Maximum event streams. Times within a stream do not go back. */
#define ETL_LANES_MAX 256u
#define ETL_ITEMS_MAX 70u /* maximum extended items of an event */

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
	size_t lane; /* stream of the last event */

	struct ptl_bytes storage; /* payload of the event being written */
	struct etl_outcome outcome;
	uint64_t now; /* latest time so far */
};

/* ---- clock.c */

/* Sets clock, start and wall time of the machine record. */
void etl_clock_set(struct etl_import *import);
/* Converts a FILETIME, or a SYSTEMTIME of 16 bytes, to nanoseconds since 1970. Clamps to the range of the result. */
int64_t etl_clock_filetime(uint64_t filetime);
int64_t etl_clock_systemtime(const uint8_t *systemtime);
/* Converts ticks of the file's clock to nanoseconds of the trace. */
uint64_t etl_clock_time(const struct etl_import *import, uint64_t ticks);

/* ---- event.c */

/* Writes an event to a stream whose times end before the event. Returns PTL_NO_MEMORY, PTL_SYSTEM. */
int etl_event_write(struct etl_import *import, const struct ptl_event *event);
/* Converts and writes a record of the buffer. */
int etl_event_take(struct etl_import *import, const struct etl_buffer *buffer, struct etl_record *record);

/* ---- survey.c */

/*
 * Reads the whole file for descriptions of events: a description often follows the events that need the description.
 * Damage is reported later, when events are read. Returns PTL_NO_MEMORY, PTL_SYSTEM.
 */
int etl_survey(struct etl_import *import);

/*
 * Rewrites the payload for the trace's schema, in storage if it differs from the record's payload. *lost: the payload
 * did not fit, and was cut. Returns PTL_NO_MEMORY.
 */
int etl_payload(const struct etl_import *import, const struct etl_schema *schema, const struct etl_record *record,
		struct ptl_bytes *storage, const uint8_t **payload, size_t *size, bool *lost);

#endif
