/* SPDX-License-Identifier: BSD-2-Clause */
/* Command lines as text: quoted so that a shell reads the same words back. */
#ifndef PTL_RECORD_QUOTE_H
#define PTL_RECORD_QUOTE_H

#include <stddef.h>

#include "common/bytes.h"

/*
 * Appends one word, after a space where out is not empty; quoted where a shell would take it for
 * more.
 */
void record_quote_word(struct ptl_bytes *out, const char *word, size_t length);

/* All words of argv (ends with NULL) and a zero byte, in fresh memory; NULL without. */
char *record_quote(char *const *argv);

#endif
