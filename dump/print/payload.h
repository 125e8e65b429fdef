/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats all fields of a payload as text or JSON, and an author's message with field values. */
#ifndef DUMP_PRINT_PAYLOAD_H
#define DUMP_PRINT_PAYLOAD_H

#include <ptl/event.h>

#include "analysis/event/value.h"
#include "common/bytes.h"
#include "common/text/json.h"

/* A top-level field of a payload. */
struct dump_place {
	size_t from, to;        /* range of its value in the text */
	struct ptl_value value; /* the number, for placeholders with another base; field NULL: no number */
};

/*
 * The top-level fields of a payload, by index. Reused for the next event to keep the memory. Zero-initialised: empty.
 */
struct dump_places {
	struct dump_place *places;
	size_t count; /* top-level fields that could be decoded */
	size_t capacity;
};

void dump_places_free(struct dump_places *places);

/*
 * Appends the fields of a payload as " Name=value Name=value". Structures: "{X=1 Y=2}". Arrays: "[1,2]" and
 * "[{X=1},{X=2}]"; arrays of characters: a string. Top-level fields called Reserved... are left out. Bytes after the
 * last field, or all bytes without a schema (NULL) or with fields that do not fit, are appended as " payload=0102ff".
 * Sets values->schema. places may be NULL. Sets text->failed without memory.
 */
void dump_text_payload(struct ptl_bytes *text, struct analysis_values *values, const struct ptl_schema *schema,
		       const uint8_t *payload, size_t size, struct dump_places *places);

/*
 * Adds the member "fields": an object with a member for each field. Structures are objects, arrays are arrays; the
 * second field of the same name is "name#2". For values see analysis_json_value.
 * Adds "raw" if strings are not UTF-8 or booleans are neither 0 nor 1: an object with the bytes of each such value in
 * hexadecimal, by its path ("Outer.Inner[2]").
 * Adds "payload", hexadecimal text, for bytes without a field.
 */
void dump_json_payload(struct common_json *json, struct analysis_values *values, const struct ptl_schema *schema,
		       const uint8_t *payload, size_t size);

/*
 * Appends a message with filled-in placeholders. {0}: value of the first top-level field as in `text`, at its `places`
 * entry, without quotes. {1:x} and {1:X}: hexadecimal; {1:x8}: at least 8 digits; {1:d4}: decimal. {{ and }} are
 * braces. Other text, and placeholders without a value, are copied. With values->raw, the message is not made safe for
 * a terminal. text and out must differ.
 */
void dump_text_message(struct ptl_bytes *out, struct analysis_values *values, const char *message,
		       const struct ptl_bytes *text, const struct dump_places *places);

#endif
