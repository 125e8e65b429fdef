/* SPDX-License-Identifier: BSD-2-Clause */
/* Which file an address of the kernel stands for, and when: the events of files name a file by the address of its object or key. */
#ifndef IMPORT_ETL_FILE_NAME_H
#define IMPORT_ETL_FILE_NAME_H

#include "common/bytes.h"
#include "import/etl/file/record.h"

/* Zero-initialised is empty. */
struct etl_file_names {
	struct etl_file_name *list; /* by address and time, once they are sorted */
	size_t count, capacity;
	struct ptl_bytes names; /* UTF-16 */
	uint64_t end;           /* 0; else ticks from which on names were forgotten, as there is no room */
};

void etl_file_names_free(struct etl_file_names *names);
/*
 * An event of the kernel's class FileIO that names a file or says that an address stands for it no more. From what passes the bounds
 * on, no file has a name. PTL_NO_MEMORY.
 */
int etl_file_names_add(struct etl_file_names *names, const struct etl_record *record);
/* After the last one. */
void etl_file_names_sort(struct etl_file_names *names);
/* The name of the file at that time: units of UTF-16; 0: it is not known. */
size_t etl_file_names_find(const struct etl_file_names *names, uint64_t address, uint64_t time, const uint8_t **name);

#endif
