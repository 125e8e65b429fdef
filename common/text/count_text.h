/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers as people read them. */
#ifndef COMMON_TEXT_COUNT_TEXT_H
#define COMMON_TEXT_COUNT_TEXT_H

#include <stdint.h>

#define COMMON_COUNT_TEXT 32

/* With a comma between thousands, in every locale: "5,123,456"; returns text. */
const char *common_count_text(uint64_t value, char text[COMMON_COUNT_TEXT]);

#endif
