/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers formatted for human readers. */
#ifndef COMMON_TEXT_COUNT_TEXT_H
#define COMMON_TEXT_COUNT_TEXT_H

#include <stdint.h>

#define COMMON_COUNT_TEXT 32

/* Formats a number with a comma between thousands, in every locale: "5,123,456". Returns `text`. */
const char *common_count_text(uint64_t value, char text[COMMON_COUNT_TEXT]);

#endif
