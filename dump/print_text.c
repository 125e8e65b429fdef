/* SPDX-License-Identifier: BSD-2-Clause */
/* Text made piece by piece in memory. No printf on the way of numbers and addresses: flow is long. */
#include "dump/print_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define DIGITS_MAX 20 /* of a 64-bit number */

void dump_text_add(struct ptl_bytes *text, const char *words)
{
	ptl_write_bytes(text, words, strlen(words));
}

void dump_text_format(struct ptl_bytes *text, const char *format, ...)
{
	char words[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(words, sizeof(words), format, arguments);
	va_end(arguments);
	dump_text_add(text, words);
}

void dump_text_safe(struct ptl_bytes *text, const char *words)
{
	const char *plain = words;
	uint8_t before = 0;

	for (const char *p = words; *p; p++) {
		const uint8_t byte = (uint8_t)*p;
		/* C1 controls are two bytes in UTF-8: C2 80 to C2 9F. */
		const bool c1 = before == 0xc2 && byte >= 0x80 && byte < 0xa0;

		before = byte;
		if (byte >= 0x20 && byte != 0x7f && !c1)
			continue;
		ptl_write_bytes(text, plain, (size_t)(p - plain));
		dump_text_format(text, "\\x%02x", byte);
		plain = p + 1;
	}
	dump_text_add(text, plain);
}

/* Digits end at end; returns where they start. */
static char *hex_before(char *end, uint64_t value)
{
	do {
		*--end = "0123456789abcdef"[value & 15];
		value >>= 4;
	} while (value);
	return end;
}

static char *decimal_before(char *end, uint64_t value)
{
	do {
		*--end = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	return end;
}

static void add_right(struct ptl_bytes *text, const char *from, const char *end, size_t width)
{
	const size_t length = (size_t)(end - from);
	const size_t blanks = length < width ? width - length : 0;
	uint8_t *p = ptl_bytes_grow(text, blanks + length);

	if (!p)
		return;
	memset(p, ' ', blanks);
	memcpy(p + blanks, from, length);
}

void dump_text_hex_right(struct ptl_bytes *text, uint64_t value, size_t width)
{
	char digits[DIGITS_MAX];

	add_right(text, hex_before(digits + DIGITS_MAX, value), digits + DIGITS_MAX, width);
}

void dump_text_hex(struct ptl_bytes *text, uint64_t value)
{
	dump_text_hex_right(text, value, 0);
}

void dump_text_hex_bytes(struct ptl_bytes *text, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		const char digits[] = {"0123456789abcdef"[bytes[i] >> 4],
				       "0123456789abcdef"[bytes[i] & 15]};

		ptl_write_bytes(text, digits, sizeof(digits));
	}
}

void dump_text_decimal_right(struct ptl_bytes *text, uint64_t value, size_t width)
{
	char digits[DIGITS_MAX];

	add_right(text, decimal_before(digits + DIGITS_MAX, value), digits + DIGITS_MAX, width);
}

void dump_text_decimal(struct ptl_bytes *text, uint64_t value)
{
	dump_text_decimal_right(text, value, 0);
}

void dump_text_count(struct ptl_bytes *text, uint64_t value)
{
	char digits[DIGITS_MAX];
	const char *p = decimal_before(digits + DIGITS_MAX, value);

	for (size_t left = (size_t)(digits + DIGITS_MAX - p); left; left--, p++) {
		ptl_write_bytes(text, p, 1);
		if (left > 1 && left % 3 == 1)
			dump_text_add(text, ",");
	}
}

void dump_text_pad(struct ptl_bytes *text, size_t start, size_t width)
{
	const size_t length = text->size - start;

	if (length < width) {
		uint8_t *p = ptl_bytes_grow(text, width - length);

		if (p)
			memset(p, ' ', width - length);
	}
}

void dump_text_size(struct ptl_bytes *text, uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes / 1024;
	size_t i = 0;

	if (bytes < 1024) {
		dump_text_format(text, "%" PRIu64 " B", bytes);
		return;
	}
	/* 1023.95 would be shown as 1024.0. */
	while (value >= 1023.95 && i + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1024;
		i++;
	}
	dump_text_format(text, "%.1f %s", value, units[i]);
}

void dump_text_duration(struct ptl_bytes *text, uint64_t nanoseconds)
{
	static const struct {
		double unit;
		const char *name;
	} units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		const double value = (double)nanoseconds / units[i].unit;

		if (value < 1)
			continue;
		dump_text_format(text, "%.*f %s", value < 10 ? 3 : value < 100 ? 2 : 1, value,
				 units[i].name);
		return;
	}
	dump_text_format(text, "%" PRIu64 " ns", nanoseconds);
}

void dump_text_share(struct ptl_bytes *text, uint64_t numerator, uint64_t denominator)
{
	double percent;

	if (!denominator) {
		dump_text_add(text, "-");
		return;
	}
	percent = 100.0 * (double)numerator / (double)denominator;
	if (numerator < denominator && percent > 99.99)
		percent = 99.99;
	if (numerator && percent < 0.01)
		percent = 0.01;
	dump_text_format(text, numerator == denominator ? "%.0f %%" : "%.2f %%", percent);
}

void dump_text_wall_time(struct ptl_bytes *text, int64_t nanoseconds)
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
	if (!gmtime_r(&when, &parts) ||
	    !strftime(words, sizeof(words), "%Y-%m-%d %H:%M:%S", &parts)) {
		dump_text_format(text, "%" PRId64 " ns", nanoseconds);
		return;
	}
	dump_text_format(text, "%s.%09" PRId64 " UTC", words, rest);
}

void dump_text_time(struct ptl_bytes *text, uint64_t time, uint64_t start)
{
	char words[DIGITS_MAX + 3], *const end = words + sizeof(words), *p = end;
	const bool before = time < start;
	uint64_t value = before ? start - time : time - start;

	if (!time) {
		static const char none[] = "-";

		add_right(text, none, none + 1, DUMP_TIME_WIDTH);
		return;
	}
	for (int i = 0; i < 6; i++) {
		*--p = (char)('0' + value % 10);
		value /= 10;
	}
	*--p = '.';
	p = decimal_before(p, value);
	if (before)
		*--p = '-';
	add_right(text, p, end, DUMP_TIME_WIDTH);
}

const char *dump_text_string(struct ptl_bytes *text)
{
	if (!ptl_bytes_grow(text, 1))
		return "";
	text->data[--text->size] = 0;
	return (const char *)text->data;
}

void dump_text_write(const struct ptl_bytes *text, FILE *out)
{
	if (text->size)
		fwrite_unlocked(text->data, 1, text->size, out);
}

const char *dump_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}
