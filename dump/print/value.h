/* SPDX-License-Identifier: BSD-2-Clause */
/* Single values of payload fields, as text and as JSON. */
#ifndef DUMP_PRINT_VALUE_H
#define DUMP_PRINT_VALUE_H

#include <ptl/event.h>

#include "common/bytes.h"
#include "common/text/json.h"
#include "dump/print/event_names.h"

/* What values are shown with. Set the first three, zero the rest; free scratch with common_bytes_free. */
struct dump_values {
	uint64_t start_time;             /* times are shown from here on */
	struct dump_names *names;        /* NULL: without maps */
	const struct ptl_schema *schema; /* of the payload that is being shown */
	bool raw;                        /* strings without quotes as they are: not for a terminal */
	struct ptl_bytes scratch;
};

/*
 * Appends a value: numbers as their format says, or by the name that a map has for them; strings, quoted where
 * quoted is true and they are no plain word; bytes in hexadecimal, none as "-". Nothing of it can drive a
 * terminal, unless values->raw. Not for structures.
 */
void dump_text_value(struct ptl_bytes *text, struct dump_values *values, const struct ptl_value *value, bool quoted);

/* The same without names of maps, quotes, and anything made safe: what a program reads. */
void dump_text_plain_value(struct ptl_bytes *text, struct dump_values *values, const struct ptl_value *value);

/*
 * Appends the bytes of a string as UTF-8, as they are: also those that are none, and lone surrogates in three
 * bytes. False: the value is shown as no string.
 */
bool dump_value_string(struct ptl_bytes *text, const struct ptl_value *value);

/* A number of any kind. */
struct dump_number {
	bool is_float, is_signed;
	union {
		uint64_t u;
		int64_t i;
		double f;
	};
};

/* The number that JSON shows, or has as "value", or would if it were not in hexadecimal; false: the value is none. */
bool dump_value_number(struct dump_number *number, const struct dump_values *values, const struct ptl_value *value);

/* The map that names the value, or NULL. */
const struct ptl_map *dump_values_map(struct dump_values *values, const struct ptl_value *value);

/*
 * Adds a value as a member (key NULL: as an element): numbers, strings, true and false; {"value": ..., "name":
 * ...} for one with a map (the name may be null) and for numbers of errno(3); "NaN", "Infinity" and "-Infinity";
 * addresses, and numbers whose format is hexadecimal, as "0x..."; times as nanoseconds since start_time; wall
 * times as nanoseconds since 1970; bytes as hexadecimal text.
 */
void dump_json_value(struct common_json *json, const char *key, struct dump_values *values,
		     const struct ptl_value *value);

/* Whether elements of this field are characters, and the array a text: its element as a character of UTF-8. */
bool dump_is_text_array(const struct ptl_field *field);
/* Appends what the array's elements (as they are in the payload, one after the other) say. */
void dump_text_array_string(struct ptl_bytes *text, const struct ptl_field *field, const uint8_t *bytes, size_t size);

#endif
