/* SPDX-License-Identifier: BSD-2-Clause */
/* Field lists in the tables of known events. */
#ifndef IMPORT_ETL_SCHEMA_FIELD_TEXT_H
#define IMPORT_ETL_SCHEMA_FIELD_TEXT_H

#include "import/etl/schema/schema.h"

/*
 * Parses a list of fields, and adds the fields to a schema. Returns PTL_NO_MEMORY; PTL_MISUSE for a wrong text.
 *
 * A field is a word NAME:TYPE. Types:
 * - u1 u2 u4 u8, i1 i2 i4 i8: numbers; x2 x4 x8: hexadecimal numbers; d: double; l: BOOL; p: pointer; z: size_t
 * - w: UTF-16 up to a zero; a: bytes up to a zero; wN: UTF-16 of N units; bN: N bytes
 * - s: a user; t: ticks of the file's clock; f: FILETIME; g: GUID; 4 and 6: IP addresses; n: a port
 * - W: UTF-16 that may name a device; o: UTF-16 at the end, which may be missing; P: pointers up to the end
 * - not in the payload: B and N: identity of an image's debug information; F: name of the file of the preceding FileKey
 *   or FileObject
 *
 * A lone * is bytes up to the end. TYPE[FIELD is an array: an earlier field has the number of elements; the number of
 * bytes after b. NAME:[FIELD begins structures, whose members end at a lone ].
 */
int etl_field_text(struct etl_schema *schema, const char *text);

#endif
