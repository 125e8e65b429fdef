/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's names of devices, and the drive letters that people know them by. */
#ifndef IMPORT_ETL_PATH_H
#define IMPORT_ETL_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"

#define ETL_VOLUMES_MAX 256u

/* Zero-initialised is empty. */
struct etl_paths {
	struct etl_volume {
		uint8_t *from, *to; /* UTF-16, without a zero at the end */
		size_t from_units, to_units;
	} volumes[ETL_VOLUMES_MAX];
	size_t count;
};

void etl_paths_free(struct etl_paths *paths);
/* The payload of a VolumeMapping event: two strings in UTF-16. What does not fit is forgotten. PTL_NO_MEMORY. */
int etl_paths_add(struct etl_paths *paths, const uint8_t *payload, size_t size);
/* Writes units of UTF-16, with a drive letter in place of a device where one is known. */
void etl_paths_write(const struct etl_paths *paths, const uint8_t *text, size_t units, struct ptl_bytes *out);

#endif
