/* SPDX-License-Identifier: BSD-2-Clause */
/* All fields of a payload, as text and as JSON, and the message that an author wrote about them. */
#ifndef DUMP_PRINT_PAYLOAD_H
#define DUMP_PRINT_PAYLOAD_H

#include <ptl/event.h>

#include "common/bytes.h"
#include "common/text/json.h"
#include "dump/print/value.h"

/* One field at the top of a payload, as it was shown. */
struct dump_place {
	size_t from, to;        /* its value in the text */
	struct ptl_value value; /* the number, for places that want it in another base; field NULL: no such one */
};

/* The top fields of one payload, by their number; kept from event to event for their memory. Zero: none. */
struct dump_places {
	struct dump_place *places;
	size_t count; /* of the schema's top fields that could be decoded */
	size_t capacity;
};

void dump_places_free(struct dump_places *places);

/*
 * Appends the fields of a payload as " Name=value Name=value": structures as "{X=1 Y=2}", arrays as "[1,2]" and
 * "[{X=1},{X=2}]", those of characters as a string; fields at the top called Reserved... are left out. Bytes behind
 * the last field, or all of them where there is no schema (NULL) or the fields do not fit, come as
 * " payload=0102ff". values->schema is set. places may be NULL. A failed allocation is left in text->failed.
 */
void dump_text_payload(struct ptl_bytes *text, struct dump_values *values, const struct ptl_schema *schema,
		       const uint8_t *payload, size_t size, struct dump_places *places);

/*
 * Adds the members "fields" (an object with one member for each field; structures are objects, arrays are
 * arrays; the second field of the same name is "name#2"), "raw", where strings are no UTF-8 and booleans neither 0 nor 1: an object with the bytes of each in
 * hexadecimal, by its path ("Outer.Inner[2]"), and, for bytes that no field explains, "payload" as hexadecimal text. Values: see
 * dump_json_value.
 */
void dump_json_payload(struct common_json *json, struct dump_values *values, const struct ptl_schema *schema,
		       const uint8_t *payload, size_t size);

/*
 * Appends the message with its places filled in: {0} is the value of the first field at the top, as it is in
 * text, where places were made, but without quotes; {1:x} and {1:X} are hexadecimal, {1:x8} with at least 8
 * digits, {1:d4} decimal likewise; {{ and }} are braces. What is no place, or has no value, is shown as it is.
 * With values->raw nothing is made safe for a terminal. text and out are not the same.
 */
void dump_text_message(struct ptl_bytes *out, struct dump_values *values, const char *message,
		       const struct ptl_bytes *text, const struct dump_places *places);

#endif
