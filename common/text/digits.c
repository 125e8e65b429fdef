/* SPDX-License-Identifier: BSD-2-Clause */
/* All two-digit numbers. */
#include "common/text/digits.h"

#define TEN(d) d, '0', d, '1', d, '2', d, '3', d, '4', d, '5', d, '6', d, '7', d, '8', d, '9'

const char common_digit_pairs[200] = {TEN('0'), TEN('1'), TEN('2'), TEN('3'), TEN('4'),
				      TEN('5'), TEN('6'), TEN('7'), TEN('8'), TEN('9')};
