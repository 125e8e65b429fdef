/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds text in memory. Numbers and addresses avoid printf for speed, as a flow listing is long. */
#include "common/text/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/plural.h"
#include "common/text/count_text.h"
#include "common/text/digits.h"
#include "common/text/utf8.h"

void common_text_add(struct ptl_bytes *text, const char *words)
{
	common_write_bytes(text, words, strlen(words));
}

void common_text_format(struct ptl_bytes *text, const char *format, ...)
{
	char words[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(words, sizeof(words), format, arguments);
	va_end(arguments);
	common_plural_choose(format, words);
	common_text_add(text, words);
}

/*
 * Whether a character could control the terminal or mislead a reader: control characters, line separators, marks that
 * change the writing direction.
 */
static bool is_control(uint32_t character)
{
	return character < 0x20 || (character >= 0x7f && character < 0xa0) ||
	       (character >= 0x2028 && character <= 0x202e) || (character >= 0x2066 && character <= 0x2069);
}

/* Returns the bytes of the character at `text` if it may be shown unchanged, else 0. */
static size_t plain_length(const uint8_t *text, size_t size)
{
	uint32_t character;
	const size_t length = common_utf8_read(text, size, &character);

	return length && !is_control(character) ? length : 0;
}

void common_text_safe_n(struct ptl_bytes *text, const void *words, size_t size)
{
	const uint8_t *bytes = words;
	size_t plain = 0;

	for (size_t at = 0; at < size;) {
		size_t length = bytes[at] >= 0x20 && bytes[at] < 0x7f;

		if (!length)
			length = plain_length(bytes + at, size - at);
		if (!length) {
			common_write_bytes(text, bytes + plain, at - plain);
			common_text_format(text, "\\x%02x", bytes[at]);
			plain = at + 1;
		}
		at += length ? length : 1;
	}
	if (size)
		common_write_bytes(text, bytes + plain, size - plain);
}

void common_text_safe(struct ptl_bytes *text, const char *words)
{
	common_text_safe_n(text, words, strlen(words));
}

static bool needs_quotes(const uint8_t *bytes, size_t size)
{
	static const char special[] = " \"\\=,[]{}";
	size_t length;

	for (size_t at = 0; at < size; at += length) {
		length = plain_length(bytes + at, size - at);
		if (!length || memchr(special, bytes[at], sizeof(special) - 1))
			return true;
	}
	return !size;
}

void common_text_quoted(struct ptl_bytes *text, const void *words, size_t size)
{
	static const char letters[] = "\nn\tt\rr\"\"\\\\";
	const uint8_t *bytes = words;

	if (!needs_quotes(bytes, size)) {
		common_write_bytes(text, bytes, size);
		return;
	}
	common_text_add(text, "\"");
	for (size_t at = 0; at < size;) {
		size_t length = plain_length(bytes + at, size - at);
		const char *letter = NULL;

		for (size_t i = 0; i < sizeof(letters) - 1 && !letter; i += 2)
			letter = (uint8_t)letters[i] == bytes[at] ? &letters[i + 1] : NULL;
		length = length ? length : 1;
		if (letter)
			common_text_format(text, "\\%c", *letter);
		else
			common_text_safe_n(text, bytes + at, length);
		at += length;
	}
	common_text_add(text, "\"");
}

static void add_right(struct ptl_bytes *text, const char *from, const char *end, size_t width)
{
	const size_t length = (size_t)(end - from);
	const size_t blanks = length < width ? width - length : 0;
	uint8_t *p = common_bytes_grow(text, blanks + length);

	if (!p)
		return;
	memset(p, ' ', blanks);
	memcpy(p + blanks, from, length);
}

void common_text_hex_right(struct ptl_bytes *text, uint64_t value, size_t width)
{
	char digits[COMMON_DIGITS_MAX];

	add_right(text, common_hex_before(digits + COMMON_DIGITS_MAX, value), digits + COMMON_DIGITS_MAX, width);
}

void common_text_hex(struct ptl_bytes *text, uint64_t value)
{
	common_text_hex_right(text, value, 0);
}

void common_text_hex_bytes(struct ptl_bytes *text, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		const char digits[] = {"0123456789abcdef"[bytes[i] >> 4], "0123456789abcdef"[bytes[i] & 15]};

		common_write_bytes(text, digits, sizeof(digits));
	}
}

void common_text_decimal_right(struct ptl_bytes *text, uint64_t value, size_t width)
{
	char digits[COMMON_DIGITS_MAX];

	add_right(text, common_digits_before(digits + COMMON_DIGITS_MAX, value), digits + COMMON_DIGITS_MAX, width);
}

void common_text_decimal(struct ptl_bytes *text, uint64_t value)
{
	common_text_decimal_right(text, value, 0);
}

void common_text_count(struct ptl_bytes *text, uint64_t value)
{
	char digits[COMMON_COUNT_TEXT];

	common_text_add(text, common_count_text(value, digits));
}

size_t common_text_width(const void *words, size_t size)
{
	const uint8_t *bytes = words;
	size_t width = 0;

	for (size_t at = 0; at < size;) {
		uint32_t character;
		const size_t length = bytes[at] < 0x80 ? 0 : common_utf8_read(bytes + at, size - at, &character);

		width += length ? common_utf8_width(character) : 1;
		at += length ? length : 1;
	}
	return width;
}

void common_text_pad(struct ptl_bytes *text, size_t start, size_t width)
{
	const size_t length = text->size > start ? common_text_width(text->data + start, text->size - start) : 0;

	if (length < width) {
		uint8_t *p = common_bytes_grow(text, width - length);

		if (p)
			memset(p, ' ', width - length);
	}
}

void common_text_size(struct ptl_bytes *text, uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes / 1024;
	size_t i = 0;

	if (bytes < 1024) {
		common_text_format(text, "%" PRIu64 " B", bytes);
		return;
	}
	/* At 1023.95, "%.1f" would print 1024.0. */
	while (value >= 1023.95 && i + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1024;
		i++;
	}
	common_text_format(text, "%.1f %s", value, units[i]);
}

void common_text_duration(struct ptl_bytes *text, uint64_t nanoseconds)
{
	static const struct {
		double unit;
		const char *name;
	} units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		const double value = (double)nanoseconds / units[i].unit;

		if (value < 1)
			continue;
		common_text_format(text, "%.*f %s", value < 10 ? 3 : value < 100 ? 2 : 1, value, units[i].name);
		return;
	}
	common_text_format(text, "%" PRIu64 " ns", nanoseconds);
}

void common_text_share(struct ptl_bytes *text, uint64_t numerator, uint64_t denominator)
{
	double percent;

	if (!denominator) {
		common_text_add(text, "-");
		return;
	}
	percent = 100.0 * (double)numerator / (double)denominator;
	if (numerator < denominator && percent > 99.99)
		percent = 99.99;
	if (numerator && percent < 0.01)
		percent = 0.01;
	common_text_format(text, numerator == denominator ? "%.0f %%" : "%.2f %%", percent);
}

void common_text_wall_time(struct ptl_bytes *text, int64_t nanoseconds)
{
	int64_t seconds = nanoseconds / 1000000000, rest = nanoseconds % 1000000000;
	char words[64];
	time_t when;
	struct tm parts;

	if (rest < 0) {
		rest += 1000000000;
		seconds--;
	}
	when = (time_t)seconds;
	if (!gmtime_r(&when, &parts) || !strftime(words, sizeof(words), "%Y-%m-%d %H:%M:%S", &parts)) {
		common_text_format(text, "%" PRId64 " ns", nanoseconds);
		return;
	}
	common_text_format(text, "%s.%09" PRId64 " UTC", words, rest);
}

static void add_milliseconds(struct ptl_bytes *text, uint64_t time, uint64_t start, size_t width)
{
	char words[COMMON_DIGITS_MAX + 3], *const end = words + sizeof(words), *p;
	const bool before = time < start;
	const uint64_t value = before ? start - time : time - start;

	p = common_six_digits_before(end, value);
	*--p = '.';
	p = common_digits_before(p, value / 1000000);
	if (before)
		*--p = '-';
	add_right(text, p, end, width);
}

void common_text_time(struct ptl_bytes *text, uint64_t time, uint64_t start)
{
	static const char none[] = "-";

	if (time)
		add_milliseconds(text, time, start, COMMON_TIME_WIDTH);
	else
		add_right(text, none, none + 1, COMMON_TIME_WIDTH);
}

void common_text_milliseconds(struct ptl_bytes *text, uint64_t time, uint64_t start)
{
	add_milliseconds(text, time, start, 0);
}

const char *common_text_string(struct ptl_bytes *text)
{
	if (!common_bytes_grow(text, 1))
		return "";
	text->data[--text->size] = 0;
	return (const char *)text->data;
}

void common_text_write(const struct ptl_bytes *text, FILE *out)
{
	if (text->size)
		fwrite_unlocked(text->data, 1, text->size, out);
}

const char *common_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	/* A name in brackets is no path: "[kworker/0:1]". */
	if (*path == '[')
		return path;
	if (!slash)
		slash = strrchr(path, '\\');
	return slash && slash[1] ? slash + 1 : path;
}

char *common_text_last_brackets(char *text)
{
	size_t at = strlen(text);
	unsigned depth = 0;

	if (!at || text[at - 1] != ')')
		return NULL;
	while (at--) {
		depth += text[at] == ')';
		if (text[at] == '(' && !--depth)
			return text + at;
	}
	return NULL;
}
