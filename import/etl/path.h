/* SPDX-License-Identifier: BSD-2-Clause */
/* Maps the kernel's device names to drive letters. */
#ifndef IMPORT_ETL_PATH_H
#define IMPORT_ETL_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"

#define ETL_VOLUMES_MAX 256u

/* Zero-initialised: empty. */
struct etl_paths {
	struct etl_volume {
		uint8_t *from, *to; /* UTF-16 without a terminating zero */
		size_t from_units, to_units;
	} volumes[ETL_VOLUMES_MAX];
	size_t count;
};

void etl_paths_free(struct etl_paths *paths);
/*
 * Adds a VolumeMapping event, whose payload is two UTF-16 strings. Drops mappings beyond the limits. Returns
 * PTL_NO_MEMORY.
 */
int etl_paths_add(struct etl_paths *paths, const uint8_t *payload, size_t size);
/* Writes UTF-16 units, with a known device replaced by its drive letter. */
void etl_paths_write(const struct etl_paths *paths, const uint8_t *text, size_t units, struct ptl_bytes *out);

#endif
