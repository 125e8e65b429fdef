/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a JSON text (RFC 8259) from untrusted sources into a tree. */
#ifndef COMMON_TEXT_JSON_READ_H
#define COMMON_TEXT_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"

#define COMMON_JSON_READ_DEPTH 64u     /* arrays and objects within each other */
#define COMMON_JSON_READ_VALUES 65536u /* values of a text */

enum common_json_kind {
	COMMON_JSON_NULL,
	COMMON_JSON_BOOL,
	COMMON_JSON_NUMBER,
	COMMON_JSON_STRING,
	COMMON_JSON_ARRAY,
	COMMON_JSON_OBJECT,
};

struct common_json_value {
	enum common_json_kind kind;
	bool truth;       /* of a BOOL */
	const char *raw;  /* the value as written, in the caller's text */
	size_t raw_size;  /* bytes */
	const char *text; /* of a STRING: decoded, zero-terminated; lone surrogates are U+FFFD; else NULL */
	size_t size;      /* bytes of `text` */
	const char *key;  /* name of a member of an object, zero-terminated; else NULL */
	size_t key_size;
	struct common_json_value *first, *next; /* children of an ARRAY or OBJECT, in the order of the text */
};

/*
 * Reads one value, with white space around it. The tree lives in the arena, and `text` must live as long. Returns
 * PTL_CORRUPT with the offset for a text that is no JSON (also invalid UTF-8), is nested deeper than
 * COMMON_JSON_READ_DEPTH or has more than COMMON_JSON_READ_VALUES values; PTL_NO_MEMORY.
 */
int common_json_read(const char *text, size_t size, struct common_arena *arena, struct common_json_value **value);

/* Returns the member with this name; of several members the last; NULL: none, or no object. value may be NULL. */
const struct common_json_value *common_json_member(const struct common_json_value *value, const char *name);
/* Whether the value is a string equal to the text. value may be NULL. */
bool common_json_is(const struct common_json_value *value, const char *text);
/* Whether the number is written as an integer: digits, with or without a minus sign. */
bool common_json_is_integer(const struct common_json_value *value);
/* Reads an integer. Returns false for other values and beyond the range of int64_t. */
bool common_json_integer(const struct common_json_value *value, int64_t *integer);

#endif
