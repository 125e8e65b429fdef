/* SPDX-License-Identifier: BSD-2-Clause */
/* How the debug information of images is known: the RSDS records that merging tools put beside images. */
#ifndef IMPORT_ETL_IMAGE_ID_H
#define IMPORT_ETL_IMAGE_ID_H

#include "common/bytes.h"
#include "common/hash_map.h"
#include "import/etl/file/record.h"

struct etl_image_id;

#define ETL_BUILD_ID 20u /* bytes: the GUID as text has it, and the age, high byte first */

/* Zero-initialised is empty. */
struct etl_image_ids {
	struct etl_image_id *list;
	size_t count, capacity;
	struct common_hash_map by_image; /* of process and base: index in list, where others may follow */
	struct ptl_bytes names;
};

void etl_image_ids_free(struct etl_image_ids *ids);
/* A DbgID_RSDS event. What passes the bounds is forgotten. PTL_NO_MEMORY. */
int etl_image_ids_add(struct etl_image_ids *ids, const struct etl_record *record);
/* The one of a process's image at base that is nearest in time; NULL: none. */
const struct etl_image_id *etl_image_ids_find(const struct etl_image_ids *ids, uint32_t pid, uint64_t base,
					      uint64_t time);
/* A count of bytes, the bytes, and the name of the PDB up to a zero; of nothing for NULL. */
void etl_image_id_write(const struct etl_image_ids *ids, const struct etl_image_id *id, struct ptl_bytes *out);

#endif
