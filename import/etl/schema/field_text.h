/* SPDX-License-Identifier: BSD-2-Clause */
/* Fields as the tables of known events have them. */
#ifndef IMPORT_ETL_SCHEMA_FIELD_TEXT_H
#define IMPORT_ETL_SCHEMA_FIELD_TEXT_H

#include "import/etl/schema/schema.h"

/*
 * Fields are words NAME:TYPE. Types: u1 u2 u4 u8 i1 i2 i4 i8 numbers, x2 x4 x8 in hexadecimal, d double, l BOOL,
 * p pointer, z size_t, w UTF-16 and a bytes up to a zero, wN UTF-16 of N units, bN bytes, s a user, t ticks of the
 * file's clock, f FILETIME, g GUID, W UTF-16 that may name a device, o UTF-16 at the end that may not be there, B and N what is known of an image's debug
 * information, and F the name of the file whose FileKey or FileObject stands before, all of which are not in the payload, 4 and 6 addresses of IP, n a port, P pointers to the end. A lone * is bytes
 * to the end.
 *
 * TYPE[FIELD: so many elements as an earlier field says, or bytes after b. NAME:[FIELD begins structures, whose members
 * go up to a lone ].
 *
 * Adds them to a schema. PTL_NO_MEMORY, PTL_MISUSE: the text is wrong.
 */
int etl_field_text(struct etl_schema *schema, const char *text);

#endif
