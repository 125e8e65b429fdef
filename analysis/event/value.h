/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats single values of payload fields as text or JSON. */
#ifndef ANALYSIS_EVENT_VALUE_H
#define ANALYSIS_EVENT_VALUE_H

#include <ptl/event.h>

#include "analysis/event/event_names.h"
#include "common/bytes.h"
#include "common/text/json.h"

/* Context for values. Set the first three members, zero the others; free scratch with common_bytes_free. */
struct analysis_values {
	uint64_t start_time;             /* trace clock; displayed times are relative to this time */
	struct analysis_names *names;    /* NULL: no maps */
	const struct ptl_schema *schema; /* schema of the current payload */
	bool raw;                        /* strings are written without quotes and escapes: not safe for a terminal */
	struct ptl_bytes scratch;
};

/*
 * Appends a value: a number in its format, or by its name in a map; a string, in quotes if `quoted` and not a plain
 * word; bytes in hexadecimal, no bytes as "-". Safe for a terminal, except with values->raw. Not for structures.
 */
void analysis_text_value(struct ptl_bytes *text, struct analysis_values *values, const struct ptl_value *value,
			 bool quoted);

/* As analysis_text_value for programs: without names of maps, quotes and escapes. */
void analysis_text_plain_value(struct ptl_bytes *text, struct analysis_values *values, const struct ptl_value *value);

/*
 * Appends the bytes of a string as UTF-8, unchanged: even invalid bytes, and lone surrogates as three bytes. Returns
 * false if the value is not shown as a string.
 */
bool analysis_value_string(struct ptl_bytes *text, const struct ptl_value *value);

/* A number of any type. */
struct analysis_number {
	bool is_float, is_signed;
	union {
		uint64_t u;
		int64_t i;
		double f;
	};
};

/*
 * Reads the number that JSON shows, directly, as "value", or in hexadecimal. Returns false if the value is not a
 * number.
 */
bool analysis_value_number(struct analysis_number *number, const struct analysis_values *values,
			   const struct ptl_value *value);

/* Returns the map with the value's name, or NULL. */
const struct ptl_map *analysis_values_map(struct analysis_values *values, const struct ptl_value *value);

/*
 * Adds a value as a member (key NULL: as an element).
 * Numbers, strings, true and false: as such. Values with a map and errno(3) numbers: {"value": ..., "name": ...}, where
 * the name may be null. Floats: also "NaN", "Infinity", "-Infinity". Addresses and hexadecimal numbers: "0x...". Times:
 * nanoseconds since start_time. Wall times: nanoseconds since 1970. Bytes: hexadecimal text.
 */
void analysis_json_value(struct common_json *json, const char *key, struct analysis_values *values,
			 const struct ptl_value *value);

/*
 * Whether the field is an array of characters: the array is displayed as text, a single element as a UTF-8 character.
 */
bool analysis_is_text_array(const struct ptl_field *field);
/* Appends an array of characters as text. bytes: the elements as in the payload. */
void analysis_text_array_string(struct ptl_bytes *text, const struct ptl_field *field, const uint8_t *bytes,
				size_t size);

#endif
