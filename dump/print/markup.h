/* SPDX-License-Identifier: BSD-2-Clause */
/* Text as XML and CSV have it. */
#ifndef DUMP_PRINT_MARKUP_H
#define DUMP_PRINT_MARKUP_H

#include <stddef.h>

#include "common/bytes.h"

/*
 * Appends words as character data or an attribute's value of XML 1.0: & < > " ' as entities, line ends and tabs as character
 * references, and what XML cannot have, bytes that are no UTF-8 among them, as U+FFFD.
 */
void dump_text_xml(struct ptl_bytes *text, const void *words, size_t size);

/* Appends a field of CSV (RFC 4180): in quotes where it has to be; zeros and bytes that are no UTF-8 become U+FFFD. */
void dump_text_csv(struct ptl_bytes *text, const void *words, size_t size);

#endif
