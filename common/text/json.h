/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes JSON to a stdio stream: objects, arrays, strings with escapes, exact 64-bit integers. */
#ifndef COMMON_TEXT_JSON_H
#define COMMON_TEXT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define COMMON_JSON_DEPTH 32

/* Writer of one document at a time to the caller's stream. Keeps track of commas and nesting. */
struct common_json {
	FILE *file;
	unsigned depth;
	bool comma[COMMON_JSON_DEPTH];
};

void common_json_start(struct common_json *json, FILE *file);
/* key: NULL inside an array and at the top level. */
void common_json_object(struct common_json *json, const char *key);
void common_json_object_end(struct common_json *json);
void common_json_array(struct common_json *json, const char *key);
void common_json_array_end(struct common_json *json);
/* Writes a string. Invalid UTF-8 becomes U+FFFD, so that the output is always valid JSON. A NULL text becomes null. */
void common_json_string(struct common_json *json, const char *key, const char *text);
void common_json_string_n(struct common_json *json, const char *key, const char *text, size_t size);
/* Writes text that already is JSON. */
void common_json_raw(struct common_json *json, const char *key, const char *text, size_t size);
void common_json_u64(struct common_json *json, const char *key, uint64_t value);
void common_json_i64(struct common_json *json, const char *key, int64_t value);
/* NaN and infinities become null, as JSON lacks them. */
void common_json_double(struct common_json *json, const char *key, double value);
void common_json_bool(struct common_json *json, const char *key, bool value);
/* Writes an address as "0x..." text. */
void common_json_hex(struct common_json *json, const char *key, uint64_t value);
void common_json_null(struct common_json *json, const char *key);
/* Ends a JSON Lines record: writes a newline at depth 0. */
void common_json_line(struct common_json *json);

#endif
