/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes JSON to a stdio stream: objects, arrays, strings with escapes, exact 64-bit integers. */
#ifndef PTL_COMMON_JSON_H
#define PTL_COMMON_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define PTL_JSON_DEPTH 32

/* One document at a time; the caller's stream. Commas and nesting are kept by the writer. */
struct ptl_json {
	FILE *file;
	unsigned depth;
	bool comma[PTL_JSON_DEPTH];
};

void ptl_json_start(struct ptl_json *json, FILE *file);
/* key is NULL inside an array and at the top. */
void ptl_json_object(struct ptl_json *json, const char *key);
void ptl_json_object_end(struct ptl_json *json);
void ptl_json_array(struct ptl_json *json, const char *key);
void ptl_json_array_end(struct ptl_json *json);
/* Bytes that are not UTF-8 are written as U+FFFD: the output is always JSON. NULL is null. */
void ptl_json_string(struct ptl_json *json, const char *key, const char *text);
void ptl_json_string_n(struct ptl_json *json, const char *key, const char *text, size_t size);
void ptl_json_u64(struct ptl_json *json, const char *key, uint64_t value);
void ptl_json_i64(struct ptl_json *json, const char *key, int64_t value);
/* NaN and infinities, which JSON lacks, are null. */
void ptl_json_double(struct ptl_json *json, const char *key, double value);
void ptl_json_bool(struct ptl_json *json, const char *key, bool value);
/* An address as "0x..." text. */
void ptl_json_hex(struct ptl_json *json, const char *key, uint64_t value);
void ptl_json_null(struct ptl_json *json, const char *key);
/* Ends a JSON Lines record: a newline at depth 0. */
void ptl_json_line(struct ptl_json *json);

#endif
