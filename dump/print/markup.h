/* SPDX-License-Identifier: BSD-2-Clause */
/* Escapes text for XML and CSV. */
#ifndef DUMP_PRINT_MARKUP_H
#define DUMP_PRINT_MARKUP_H

#include <stddef.h>

#include "common/bytes.h"

/*
 * Appends character data or an attribute value of XML 1.0. & < > " ' become entities, line ends and tabs become
 * character references. Characters not allowed in XML, and bytes that are not UTF-8, become U+FFFD.
 */
void dump_text_xml(struct ptl_bytes *text, const void *words, size_t size);

/* Appends a field of CSV (RFC 4180), quoted if required. Zeros and bytes that are not UTF-8 become U+FFFD. */
void dump_text_csv(struct ptl_bytes *text, const void *words, size_t size);

#endif
