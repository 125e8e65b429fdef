/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes JSON (RFC 8259) piece by piece. Keeps no state but the nesting. */
#include "common/text/json.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "common/text/digits.h"
#include "common/text/utf8.h"

void common_json_start(struct common_json *json, FILE *file)
{
	*json = (struct common_json){.file = file};
}

static void write_escape(FILE *file, uint8_t byte)
{
	static const char letters[] = "\bb\ff\nn\rr\tt\"\"\\\\";

	for (const char *p = letters; *p; p += 2) {
		if ((uint8_t)*p == byte) {
			putc_unlocked('\\', file);
			putc_unlocked(p[1], file);
			return;
		}
	}
	fprintf(file, "\\u%04x", byte);
}

static bool is_plain(uint8_t byte)
{
	return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

static void write_text(FILE *file, const char *text, size_t size)
{
	const uint8_t *p = (const uint8_t *)text;
	size_t at = 0;

	putc_unlocked('"', file);
	while (at < size) {
		uint32_t character;
		size_t length = 0;

		while (at + length < size && is_plain(p[at + length]))
			length++;
		if (!length && p[at] < 0x80) {
			write_escape(file, p[at++]);
			continue;
		}
		if (!length)
			length = common_utf8_read(p + at, size - at, &character);
		if (length) {
			fwrite_unlocked(p + at, 1, length, file);
			at += length;
		} else {
			fputs("\xef\xbf\xbd", file); /* one U+FFFD per invalid byte */
			at++;
		}
	}
	putc_unlocked('"', file);
}

/* Writes the comma and the key before a value. */
static void before_value(struct common_json *json, const char *key)
{
	if (json->comma[json->depth])
		putc_unlocked(',', json->file);
	json->comma[json->depth] = true;
	if (key) {
		write_text(json->file, key, strlen(key));
		putc_unlocked(':', json->file);
	}
}

static void open_nested(struct common_json *json, const char *key, char bracket)
{
	before_value(json, key);
	assert(json->depth + 1 < COMMON_JSON_DEPTH); /* nesting depends on the program only, never on the input */
	json->comma[++json->depth] = false;
	putc_unlocked(bracket, json->file);
}

static void close_nested(struct common_json *json, char bracket)
{
	assert(json->depth > 0);
	json->depth--;
	putc_unlocked(bracket, json->file);
}

void common_json_object(struct common_json *json, const char *key)
{
	open_nested(json, key, '{');
}

void common_json_object_end(struct common_json *json)
{
	close_nested(json, '}');
}

void common_json_array(struct common_json *json, const char *key)
{
	open_nested(json, key, '[');
}

void common_json_array_end(struct common_json *json)
{
	close_nested(json, ']');
}

void common_json_string_n(struct common_json *json, const char *key, const char *text, size_t size)
{
	before_value(json, key);
	write_text(json->file, text, size);
}

void common_json_string(struct common_json *json, const char *key, const char *text)
{
	if (text)
		common_json_string_n(json, key, text, strlen(text));
	else
		common_json_null(json, key);
}

void common_json_raw(struct common_json *json, const char *key, const char *text, size_t size)
{
	before_value(json, key);
	fwrite_unlocked(text, 1, size, json->file);
}

static void write_number(FILE *file, bool negative, uint64_t value)
{
	char digits[COMMON_DIGITS_MAX + 1], *const end = digits + sizeof(digits);
	char *start = common_digits_before(end, value);

	if (negative)
		*--start = '-';
	fwrite_unlocked(start, 1, (size_t)(end - start), file);
}

void common_json_u64(struct common_json *json, const char *key, uint64_t value)
{
	before_value(json, key);
	write_number(json->file, false, value);
}

void common_json_i64(struct common_json *json, const char *key, int64_t value)
{
	before_value(json, key);
	write_number(json->file, value < 0, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void common_json_double(struct common_json *json, const char *key, double value)
{
	char text[32];

	if (!isfinite(value)) {
		common_json_null(json, key);
		return;
	}
	before_value(json, key);
	/* Uses the fewest digits that read back as the same number. */
	for (int digits = 15; digits <= 17; digits++) {
		double back;

		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (sscanf(text, "%lf", &back) == 1 && back >= value && back <= value)
			break;
	}
	fputs(text, json->file);
}

void common_json_bool(struct common_json *json, const char *key, bool value)
{
	before_value(json, key);
	fputs(value ? "true" : "false", json->file);
}

void common_json_hex(struct common_json *json, const char *key, uint64_t value)
{
	char digits[COMMON_DIGITS_MAX], *const end = digits + sizeof(digits);
	char *start = end;

	before_value(json, key);
	*--start = '"';
	start = common_hex_before(start, value);
	*--start = 'x';
	*--start = '0';
	*--start = '"';
	fwrite_unlocked(start, 1, (size_t)(end - start), json->file);
}

void common_json_null(struct common_json *json, const char *key)
{
	before_value(json, key);
	fputs("null", json->file);
}

void common_json_line(struct common_json *json)
{
	assert(json->depth == 0);
	json->comma[0] = false;
	putc_unlocked('\n', json->file);
}
