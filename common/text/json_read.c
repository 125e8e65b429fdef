/* SPDX-License-Identifier: BSD-2-Clause */
#include "common/text/json_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/text/utf8.h"

struct reading {
	const char *start, *at, *end;
	struct common_arena *arena;
	unsigned depth;
	size_t values;
};

static int fail_json(const struct reading *reading, const char *what)
{
	return common_fail(PTL_CORRUPT, "offset %zu: %s", (size_t)(reading->at - reading->start), what);
}

static void skip_space(struct reading *reading)
{
	while (reading->at < reading->end && strchr(" \t\r\n", *reading->at) && *reading->at)
		reading->at++;
}

static bool take_character(struct reading *reading, char character)
{
	if (reading->at == reading->end || *reading->at != character)
		return false;
	reading->at++;
	return true;
}

/* ---- strings ------------------------------------------------------------------------------------- */

static int hex_digit(char character)
{
	if (character >= '0' && character <= '9')
		return character - '0';
	if (character >= 'a' && character <= 'f')
		return character - 'a' + 10;
	return character >= 'A' && character <= 'F' ? character - 'A' + 10 : -1;
}

/* Reads four hexadecimal digits. */
static bool take_unit(struct reading *reading, uint32_t *unit)
{
	*unit = 0;
	if (reading->end - reading->at < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		const int digit = hex_digit(*reading->at);

		if (digit < 0)
			return false;
		*unit = *unit << 4 | (uint32_t)digit;
		reading->at++;
	}
	return true;
}

#define REPLACEMENT 0xfffdu

/* Reads the digits behind \u, and the second half of a pair of surrogates. */
static int take_unicode(struct reading *reading, struct ptl_bytes *text)
{
	uint32_t character, low;

	if (!take_unit(reading, &character))
		return fail_json(reading, "expected four hexadecimal digits");
	if (character >= 0xdc00 && character < 0xe000)
		character = REPLACEMENT;
	if (character >= 0xd800 && character < 0xdc00) {
		const char *before = reading->at;

		if (take_character(reading, '\\') && take_character(reading, 'u') && take_unit(reading, &low) &&
		    low >= 0xdc00 && low < 0xe000) {
			character = 0x10000 + ((character - 0xd800) << 10) + (low - 0xdc00);
		} else {
			character = REPLACEMENT;
			reading->at = before;
		}
	}
	common_utf8_write(text, character);
	return 0;
}

static int take_escape(struct reading *reading, struct ptl_bytes *text)
{
	static const char letters[] = "\"\"\\\\//b\bf\fn\nr\rt\t";
	const char letter = reading->at < reading->end ? *reading->at : 0;

	if (letter == 'u') {
		reading->at++;
		return take_unicode(reading, text);
	}
	for (const char *p = letters; letter && *p; p += 2)
		if (*p == letter) {
			reading->at++;
			common_write_bytes(text, p + 1, 1);
			return 0;
		}
	return fail_json(reading, "expected an escape");
}

static int take_characters(struct reading *reading, struct ptl_bytes *text)
{
	while (!take_character(reading, '"')) {
		const size_t left = (size_t)(reading->end - reading->at);
		uint32_t character;
		size_t length;
		int status = 0;

		if (!left)
			return fail_json(reading, "a string without an end");
		if ((uint8_t)*reading->at < 0x20)
			return fail_json(reading, "a control character in a string");
		length = common_utf8_read((const uint8_t *)reading->at, left, &character);
		if (!length)
			return fail_json(reading, "invalid UTF-8");
		if (take_character(reading, '\\')) {
			status = take_escape(reading, text);
		} else {
			common_write_bytes(text, reading->at, length);
			reading->at += length;
		}
		if (status)
			return status;
	}
	return text->failed ? common_fail_memory("a string", text->size) : 0;
}

static int take_string(struct reading *reading, const char **string, size_t *size)
{
	struct ptl_bytes text = {0};
	int status = take_character(reading, '"') ? take_characters(reading, &text)
						  : fail_json(reading, "expected a string");

	if (!status) {
		*size = text.size;
		*string = common_arena_copy(reading->arena, text.size ? (const char *)text.data : "", text.size);
		status = *string ? 0 : PTL_NO_MEMORY;
	}
	common_bytes_free(&text);
	return status;
}

/* ---- numbers and words --------------------------------------------------------------------------- */

static size_t take_digits(struct reading *reading)
{
	const char *before = reading->at;

	while (reading->at < reading->end && *reading->at >= '0' && *reading->at <= '9')
		reading->at++;
	return (size_t)(reading->at - before);
}

static int take_number(struct reading *reading)
{
	bool good;

	(void)take_character(reading, '-');
	good = take_character(reading, '0') || take_digits(reading);
	if (good && take_character(reading, '.'))
		good = take_digits(reading);
	if (good && (take_character(reading, 'e') || take_character(reading, 'E'))) {
		(void)(take_character(reading, '+') || take_character(reading, '-'));
		good = take_digits(reading);
	}
	return good ? 0 : fail_json(reading, "expected a value");
}

static bool take_word(struct reading *reading, const char *word)
{
	const size_t size = strlen(word);

	if ((size_t)(reading->end - reading->at) < size || memcmp(reading->at, word, size) != 0)
		return false;
	reading->at += size;
	return true;
}

/* ---- values -------------------------------------------------------------------------------------- */

static int take_value(struct reading *reading, struct common_json_value **value);

static int take_key(struct reading *reading, const char **key, size_t *size)
{
	int status;

	skip_space(reading);
	status = take_string(reading, key, size);
	skip_space(reading);
	if (!status && !take_character(reading, ':'))
		status = fail_json(reading, "expected a colon");
	return status;
}

static int take_children(struct reading *reading, struct common_json_value *parent, char end)
{
	struct common_json_value **next = &parent->first;
	int status = 0;

	skip_space(reading);
	if (take_character(reading, end))
		return 0;
	for (;;) {
		const char *key = NULL;
		size_t key_size = 0;

		if (parent->kind == COMMON_JSON_OBJECT)
			status = take_key(reading, &key, &key_size);
		if (!status)
			status = take_value(reading, next);
		if (status)
			return status;
		(*next)->key = key;
		(*next)->key_size = key_size;
		next = &(*next)->next;
		if (take_character(reading, end))
			return 0;
		if (!take_character(reading, ','))
			return fail_json(reading, "expected a comma, or the end of an array or object");
	}
}

static int take_nested(struct reading *reading, struct common_json_value *value, enum common_json_kind kind, char end)
{
	int status;

	value->kind = kind;
	if (++reading->depth > COMMON_JSON_READ_DEPTH)
		return fail_json(reading, "too many arrays and objects within each other");
	status = take_children(reading, value, end);
	reading->depth--;
	return status;
}

static int take_kind(struct reading *reading, struct common_json_value *value)
{
	if (take_character(reading, '{'))
		return take_nested(reading, value, COMMON_JSON_OBJECT, '}');
	if (take_character(reading, '['))
		return take_nested(reading, value, COMMON_JSON_ARRAY, ']');
	if (reading->at < reading->end && *reading->at == '"') {
		value->kind = COMMON_JSON_STRING;
		return take_string(reading, &value->text, &value->size);
	}
	if (take_word(reading, "null"))
		return 0;
	value->truth = take_word(reading, "true");
	value->kind = COMMON_JSON_BOOL;
	if (value->truth || take_word(reading, "false"))
		return 0;
	value->kind = COMMON_JSON_NUMBER;
	return take_number(reading);
}

/* Reads a value, and white space around the value. */
static int take_value(struct reading *reading, struct common_json_value **value)
{
	struct common_json_value *made;
	int status;

	if (++reading->values > COMMON_JSON_READ_VALUES)
		return fail_json(reading, "too many values");
	made = common_arena_zeroed(reading->arena, sizeof(*made));
	if (!made)
		return PTL_NO_MEMORY;
	skip_space(reading);
	made->raw = reading->at;
	status = take_kind(reading, made);
	made->raw_size = (size_t)(reading->at - made->raw);
	skip_space(reading);
	*value = made;
	return status;
}

int common_json_read(const char *text, size_t size, struct common_arena *arena, struct common_json_value **value)
{
	struct reading reading = {.start = text, .at = text, .end = text + size, .arena = arena};
	int status = take_value(&reading, value);

	if (!status && reading.at != reading.end)
		status = fail_json(&reading, "expected the end");
	return status;
}

/* ---- looking at values --------------------------------------------------------------------------- */

const struct common_json_value *common_json_member(const struct common_json_value *value, const char *name)
{
	const struct common_json_value *found = NULL;
	const size_t size = strlen(name);

	if (!value || value->kind != COMMON_JSON_OBJECT)
		return NULL;
	for (const struct common_json_value *member = value->first; member; member = member->next)
		if (member->key_size == size && memcmp(member->key, name, size) == 0)
			found = member;
	return found;
}

bool common_json_is(const struct common_json_value *value, const char *text)
{
	return value && value->kind == COMMON_JSON_STRING && value->size == strlen(text) &&
	       memcmp(value->text, text, value->size) == 0;
}

bool common_json_is_integer(const struct common_json_value *value)
{
	if (value->kind != COMMON_JSON_NUMBER)
		return false;
	for (size_t i = 0; i < value->raw_size; i++)
		if (strchr(".eE", value->raw[i]))
			return false;
	return true;
}

bool common_json_integer(const struct common_json_value *value, int64_t *integer)
{
	char digits[24];

	if (!common_json_is_integer(value) || value->raw_size >= sizeof(digits))
		return false;
	memcpy(digits, value->raw, value->raw_size);
	digits[value->raw_size] = 0;
	errno = 0;
	*integer = strtoll(digits, NULL, 10);
	return !errno;
}
