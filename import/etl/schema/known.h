/* SPDX-License-Identifier: BSD-2-Clause */
/* The schemas that are known of a file's events. */
#ifndef IMPORT_ETL_SCHEMA_KNOWN_H
#define IMPORT_ETL_SCHEMA_KNOWN_H

#include "common/hash_map.h"
#include "import/etl/file/record.h"
#include "import/etl/schema/schema.h"

/*
 * What may be written of metadata: a trace has bounds for it (docs/format.md 5), within which the descriptions of a
 * hostile file have to stay.
 */
struct etl_budget {
	size_t items, bytes; /* spent */
};

/* Whether so many records, fields or entries, of so many bytes, can be written; they are spent then. */
bool etl_budget_spend(struct etl_budget *budget, size_t items, size_t bytes);

#define ETL_CLR_PROVIDERS 3u /* of the runtime of .NET: import/etl/schema/clr_table.h */
#define ETL_KNOWN_RECENT 64u
#define ETL_TEXT_KEY_MAX (16u + UINT16_MAX) /* bytes: a provider, and what its event says of itself */

/* Zero-initialised is empty. */
struct etl_known {
	struct etl_schema **list; /* all of them */
	size_t count, capacity;
	struct common_byte_map by_event; /* provider, id, version, opcode: index in list; NONE: looked for in vain */
	struct common_byte_map by_text;  /* provider and what a TraceLogging event says of itself: likewise */
	struct common_byte_map ids;      /* ids that were given to TraceLogging's events */
	uint32_t clr_maps[ETL_CLR_PROVIDERS]; /* that have been written, a bit each */
	size_t bytes;                         /* that descriptions take */
	size_t fields;                        /* of all schemas */
	struct etl_budget budget;
	/* Those found before, by a hash: kinds of events come again soon. */
	struct etl_known_recent {
		struct ptl_descriptor descriptor;
		struct etl_schema *schema; /* NULL: nothing describes it */
		bool is_set;
	} recent[ETL_KNOWN_RECENT];
	/* The last one of TraceLogging. */
	uint8_t last_text[ETL_TEXT_KEY_MAX];
	size_t last_text_size;
	struct etl_schema *last_described;
};

/* Whether there is room for more schemas. */
bool etl_known_has_room(const struct etl_known *known);

void etl_known_free(struct etl_known *known);

/*
 * Adds a schema, which it owns from now on, failing or not; of two for one event the first counts. Any more than the
 * bounds allow are forgotten. PTL_NO_MEMORY.
 */
int etl_known_add(struct etl_known *known, struct etl_schema *schema);

/*
 * Finds the schema of a record; NULL if nothing explains the record. A TraceLogging event gets an id and a version in
 * record->descriptor, in place of its own: 0x8000 and up, by a hash of the event's description. PTL_NO_MEMORY.
 */
int etl_known_find(struct etl_known *known, struct etl_record *record, struct etl_schema **schema);

/* A new schema of what a TraceLogging event says of itself; NULL in *schema: it contradicts itself. PTL_NO_MEMORY. */
int etl_tracelogging_schema(const uint8_t *text, size_t size, struct etl_schema **schema);

/* Adds what a merged trace says of an event: EventInfo. What contradicts itself is left out. PTL_NO_MEMORY. */
int etl_event_info(struct etl_known *known, const uint8_t *data, size_t size);

struct ptl_writer;

/* Writes what a merged trace says of the names of numbers: EventMapInfo. Likewise; and what the writer returns. */
int etl_map_info(struct etl_known *known, struct ptl_writer *writer, const uint8_t *data, size_t size);

/* The same for any map, which is left out where the budget is spent. */
int etl_map_write(struct etl_known *known, struct ptl_writer *writer, const struct ptl_map *map);

#endif
