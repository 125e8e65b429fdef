/* SPDX-License-Identifier: BSD-2-Clause */
/* Known schemas of a file's events. */
#ifndef IMPORT_ETL_SCHEMA_KNOWN_H
#define IMPORT_ETL_SCHEMA_KNOWN_H

#include "common/hash_map.h"
#include "import/etl/file/record.h"
#include "import/etl/schema/budget.h"
#include "import/etl/schema/schema.h"

#define ETL_CLR_PROVIDERS 3u /* providers of the .NET runtime: import/etl/schema/clr_table.h */
#define ETL_KNOWN_RECENT 64u
#define ETL_TEXT_KEY_MAX (16u + UINT16_MAX) /* bytes: provider, and description of an event */

/* Zero-initialised: no schemas. */
struct etl_known {
	struct etl_schema **list; /* all schemas */
	size_t count, capacity;
	struct common_byte_map by_event; /* provider, id, version, opcode: index in list; NONE: known to be missing */
	struct common_byte_map by_text;  /* provider and TraceLogging description: index in list, or NONE */
	struct common_byte_map ids;      /* ids that TraceLogging events were given */
	uint32_t clr_maps[ETL_CLR_PROVIDERS]; /* a bit for each map that was written */
	size_t bytes;                         /* bytes of TraceLogging descriptions */
	size_t fields;                        /* fields of all schemas */
	struct etl_budget budget;
	/* Cache of the last lookups, by hash: kinds of events repeat. */
	struct etl_known_recent {
		struct ptl_descriptor descriptor;
		struct etl_schema *schema; /* NULL: no schema */
		bool is_set;
	} recent[ETL_KNOWN_RECENT];
	/* The last TraceLogging description. */
	uint8_t last_text[ETL_TEXT_KEY_MAX];
	size_t last_text_size;
	struct etl_schema *last_described;
};

/* Whether the limits allow more schemas. */
bool etl_known_has_room(const struct etl_known *known);

void etl_known_free(struct etl_known *known);

/*
 * Adds a schema, and takes ownership even after a failure. The first schema of an event counts. Drops schemas beyond
 * the limits. Returns PTL_NO_MEMORY.
 */
int etl_known_add(struct etl_known *known, struct etl_schema *schema);

/*
 * Finds the schema of a record; NULL: no schema. Replaces id and version of a TraceLogging event in record->descriptor
 * by a hash of its description; such ids begin at 0x8000. Returns PTL_NO_MEMORY.
 */
int etl_known_find(struct etl_known *known, struct etl_record *record, struct etl_schema **schema);

/*
 * Makes a new schema from a TraceLogging event's description; *schema is NULL for an invalid description. Returns
 * PTL_NO_MEMORY.
 */
int etl_tracelogging_schema(const uint8_t *text, size_t size, struct etl_schema **schema);

/* Adds a merged trace's description of an event: EventInfo. Ignores an invalid description. Returns PTL_NO_MEMORY. */
int etl_event_info(struct etl_known *known, const uint8_t *data, size_t size);

struct ptl_writer;

/*
 * Writes a merged trace's value names: EventMapInfo. Ignores an invalid map. Returns PTL_NO_MEMORY, and the errors of
 * the writer.
 */
int etl_map_info(struct etl_known *known, struct ptl_writer *writer, const uint8_t *data, size_t size);

#endif
