/* SPDX-License-Identifier: BSD-2-Clause */
/* Digits: fast formatting of numbers, for writers of many numbers, and the values of hexadecimal digits. */
#ifndef COMMON_TEXT_DIGITS_H
#define COMMON_TEXT_DIGITS_H

#include <stdint.h>

#define COMMON_DIGITS_MAX 20 /* of a 64-bit number */

/* The text "000102...99". */
extern const char common_digit_pairs[200];

/* Returns the value of a hexadecimal digit; -1: no digit. */
static inline int common_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Writes the decimal digits of `value` so that they end before `end`. Returns their start. */
static inline char *common_digits_before(char *end, uint64_t value)
{
	for (; value >= 100; value /= 100) {
		const char *pair = &common_digit_pairs[value % 100 * 2];

		*--end = pair[1];
		*--end = pair[0];
	}
	if (value >= 10) {
		*--end = common_digit_pairs[value * 2 + 1];
		*--end = common_digit_pairs[value * 2];
	} else {
		*--end = (char)('0' + value);
	}
	return end;
}

/* As common_digits_before, but in hexadecimal. */
static inline char *common_hex_before(char *end, uint64_t value)
{
	do
		*--end = "0123456789abcdef"[value & 15];
	while (value >>= 4);
	return end;
}

/* Writes the last six digits of `value`, including leading zeros. */
static inline char *common_six_digits_before(char *end, uint64_t value)
{
	for (int i = 0; i < 3; i++, value /= 100) {
		const char *pair = &common_digit_pairs[value % 100 * 2];

		*--end = pair[1];
		*--end = pair[0];
	}
	return end;
}

#endif
