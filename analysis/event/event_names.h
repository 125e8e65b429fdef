/* SPDX-License-Identifier: BSD-2-Clause */
/* Names for numbers in events: providers, tasks, opcodes, levels, keywords, values of fields. */
#ifndef ANALYSIS_EVENT_EVENT_NAMES_H
#define ANALYSIS_EVENT_EVENT_NAMES_H

#include <ptl/reader.h>

#include "common/bytes.h"
#include "common/hash_map.h"

/* Zero-initialised: no names. Not thread-safe. */
struct analysis_names {
	const struct ptl_trace *trace;
	struct common_byte_map providers; /* by GUID: a schema of the provider */
	struct common_hash_map fields;    /* by address of a field: its map */
	struct common_hash_map schemas;   /* by address of a schema: whether two fields have the same name */
};

/* Loads the names of a trace, which must live as long as `names`. Returns 0 or PTL_NO_MEMORY. */
int analysis_names_load(struct analysis_names *names, const struct ptl_trace *trace);
void analysis_names_free(struct analysis_names *names);

/* Returns the map of a field, owned by the trace; NULL: none. names may be NULL. */
const struct ptl_map *analysis_names_map(struct analysis_names *names, const struct ptl_schema *schema,
					 const struct ptl_field *field);
/*
 * Returns how many earlier fields of the schema, at any level, have the same name. Fast if all names differ. names may
 * be NULL: returns 0.
 */
size_t analysis_names_before(struct analysis_names *names, const struct ptl_schema *schema,
			     const struct ptl_field *field);
/* Returns the provider's name; NULL if no schema of the trace has the name. */
const char *analysis_names_provider(const struct analysis_names *names, const struct ptl_guid *provider);
/* Returns the provider's name for a number in a kind of map; NULL: none. */
const char *analysis_names_of(const struct analysis_names *names, const struct ptl_guid *provider, uint32_t kind,
			      uint64_t value);
/* Return the name in the event's schema (may be NULL), else in the provider's maps; NULL: none. */
const char *analysis_names_task(const struct analysis_names *names, const struct ptl_descriptor *descriptor,
				const struct ptl_schema *schema);
const char *analysis_names_opcode(const struct analysis_names *names, const struct ptl_descriptor *descriptor,
				  const struct ptl_schema *schema);
/* Returns the provider's name for the level, else ETW's name; NULL: none. */
const char *analysis_names_level(const struct analysis_names *names, const struct ptl_descriptor *descriptor);
/* Returns ETW's name for levels 0 to 5, else NULL. */
const char *analysis_level_name(uint8_t level);

/*
 * Appends the name of an event: "Task/Opcode" if both have names and the opcode is not 0 (Info); else the schema's
 * event name; else "EventID(7)" or "EventID(7)/Opcode(3)". Safe for a terminal.
 */
void analysis_text_event_name(struct ptl_bytes *text, const struct analysis_names *names,
			      const struct ptl_descriptor *descriptor, const struct ptl_schema *schema);
/* Appends "Provider/" or "{GUID}/" and the name of the event. */
void analysis_text_full_name(struct ptl_bytes *text, const struct analysis_names *names,
			     const struct ptl_descriptor *descriptor, const struct ptl_schema *schema);
/*
 * Appends the names of a value's bits, "Read||Write||0x10"; bits without a name in hexadecimal; 0 as its name or "0".
 * Names are not made safe for a terminal.
 */
void analysis_text_flags(struct ptl_bytes *text, const struct ptl_map *map, uint64_t value);

#endif
