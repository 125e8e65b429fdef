/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of what events carry as numbers: providers, tasks, opcodes, levels, keywords, values of fields. */
#ifndef DUMP_PRINT_EVENT_NAMES_H
#define DUMP_PRINT_EVENT_NAMES_H

#include <ptl/reader.h>

#include "common/bytes.h"
#include "common/hash_map.h"

/* Zero-initialised knows no names. For one thread. */
struct dump_names {
	const struct ptl_trace *trace;
	struct common_byte_map providers; /* a schema of each provider, by its GUID */
	struct common_hash_map fields;    /* the map of a field, by the field's address */
	struct common_hash_map schemas;   /* whether names come twice, by the schema's address */
};

/* The trace has to live as long as names. PTL_NO_MEMORY. */
int dump_names_load(struct dump_names *names, const struct ptl_trace *trace);
void dump_names_free(struct dump_names *names);

/* The map of a field of schema, which belongs to the trace; NULL: none. names may be NULL. */
const struct ptl_map *dump_names_map(struct dump_names *names, const struct ptl_schema *schema,
				     const struct ptl_field *field);
/*
 * How many fields before this one, anywhere in the schema, have its name. Fast where all names differ. names may be
 * NULL: 0.
 */
size_t dump_names_before(struct dump_names *names, const struct ptl_schema *schema, const struct ptl_field *field);
/* NULL: no schema in the trace names this provider. */
const char *dump_names_provider(const struct dump_names *names, const struct ptl_guid *provider);
/* The provider's name for a number of this kind of map; NULL: none. */
const char *dump_names_of(const struct dump_names *names, const struct ptl_guid *provider, uint32_t kind,
			  uint64_t value);
/* Those of the event's schema (may be NULL), else of its provider's maps; NULL: none. */
const char *dump_names_task(const struct dump_names *names, const struct ptl_descriptor *descriptor,
			    const struct ptl_schema *schema);
const char *dump_names_opcode(const struct dump_names *names, const struct ptl_descriptor *descriptor,
			      const struct ptl_schema *schema);
/* The provider's name for the level, else ETW's. NULL for a number that has none. */
const char *dump_names_level(const struct dump_names *names, const struct ptl_descriptor *descriptor);
/* ETW's name for a level from 0 to 5, else NULL. */
const char *dump_level_name(uint8_t level);

/*
 * Appends what the event is called: "Task/Opcode" where both have names and the opcode is not 0 (Info), else the
 * schema's event name, else "EventID(7)" or "EventID(7)/Opcode(3)". Made safe for a terminal.
 */
void dump_text_event_name(struct ptl_bytes *text, const struct dump_names *names,
			  const struct ptl_descriptor *descriptor, const struct ptl_schema *schema);
/* Appends "Provider/" or "{GUID}/" and the event's name. */
void dump_text_full_name(struct ptl_bytes *text, const struct dump_names *names,
			 const struct ptl_descriptor *descriptor, const struct ptl_schema *schema);
/*
 * Appends a value as names of its bits, "Read|Write|0x10"; what has no name in hexadecimal; 0 as its name or "0".
 * Names are as they are in the trace: not safe for a terminal.
 */
void dump_text_flags(struct ptl_bytes *text, const struct ptl_map *map, uint64_t value);

#endif
