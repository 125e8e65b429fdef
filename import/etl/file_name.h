/* SPDX-License-Identifier: BSD-2-Clause */
/* Maps kernel addresses to file names over time. File events identify a file by the address of its object or key. */
#ifndef IMPORT_ETL_FILE_NAME_H
#define IMPORT_ETL_FILE_NAME_H

#include "common/bytes.h"
#include "import/etl/file/record.h"

/* Zero-initialised: empty. */
struct etl_file_names {
	struct etl_file_name *list; /* sorted by address and time after etl_file_names_sort */
	size_t count, capacity;
	struct ptl_bytes names; /* UTF-16 */
	uint64_t end;           /* ticks from which on names were dropped for lack of room; 0: none dropped */
};

void etl_file_names_free(struct etl_file_names *names);
/*
 * Handles an event of class FileIO that names a file, or ends the use of an address. Beyond the memory limits no file
 * has a name. Returns PTL_NO_MEMORY.
 */
int etl_file_names_add(struct etl_file_names *names, const struct etl_record *record);
/* Call after the last etl_file_names_add. */
void etl_file_names_sort(struct etl_file_names *names);
/* Finds the name of a file at a time. Returns the number of UTF-16 units; 0: unknown. */
size_t etl_file_names_find(const struct etl_file_names *names, uint64_t address, uint64_t time, const uint8_t **name);

#endif
