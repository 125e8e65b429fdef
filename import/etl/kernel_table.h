/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of the kernel's classes. docs/etl.md names its sources. */
#ifndef IMPORT_ETL_KERNEL_TABLE_H
#define IMPORT_ETL_KERNEL_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include <ptl/guid.h>

/*
 * Fields are NAME:TYPE. Types: u1 u2 u4 u8 i1 i2 i4 i8 numbers, x4 x8 in hexadecimal, p pointer, z size_t, w UTF-16 and
 * a bytes up to a zero, wN UTF-16 of N units, bN bytes, s a user, t ticks of the file's clock, f FILETIME, g GUID,
 * W UTF-16 that may name a device, B and N what is
 * known of an image's debug information, which is not in the payload, 4 and 6 addresses of IP, n a port, P pointers to the end, * bytes to the end.
 */
struct etl_kernel_row {
	uint8_t group;       /* index of the class */
	uint8_t version;     /* and later ones, up to the next row of the same opcode */
	const char *opcodes; /* "1 Start,2 End" */
	const char *fields;
};

struct etl_kernel_class {
	struct ptl_guid guid;
	const char *name;
	const char *provider;
};

extern const struct etl_kernel_class etl_kernel_classes[];
extern const size_t etl_kernel_class_count;
extern const struct etl_kernel_row etl_kernel_rows[];
extern const size_t etl_kernel_row_count;

#endif
