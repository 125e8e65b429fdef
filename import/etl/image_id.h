/* SPDX-License-Identifier: BSD-2-Clause */
/* Identities of debug information: RSDS records that merging tools add for images. */
#ifndef IMPORT_ETL_IMAGE_ID_H
#define IMPORT_ETL_IMAGE_ID_H

#include "common/bytes.h"
#include "common/hash_map.h"
#include "import/etl/file/record.h"

struct etl_image_id;

#define ETL_BUILD_ID 20u /* bytes: the GUID in text order, and the age, high byte first */

/* Zero-initialised: empty. */
struct etl_image_ids {
	struct etl_image_id *list;
	size_t count, capacity;
	struct common_hash_map by_image; /* process and base: index in list of the newest entry; entries are chained */
	struct ptl_bytes names;
};

void etl_image_ids_free(struct etl_image_ids *ids);
/* Adds a DbgID_RSDS event. Drops entries beyond the memory limits. Returns PTL_NO_MEMORY. */
int etl_image_ids_add(struct etl_image_ids *ids, const struct etl_record *record);
/* Returns the entry of a process's image at base that is nearest in time; NULL: none. */
const struct etl_image_id *etl_image_ids_find(const struct etl_image_ids *ids, uint32_t pid, uint64_t base,
					      uint64_t time);
/* Writes the id with its size, and the zero-terminated name of the PDB; empty values for NULL. */
void etl_image_id_write(const struct etl_image_ids *ids, const struct etl_image_id *id, struct ptl_bytes *out);

#endif
