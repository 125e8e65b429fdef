/* SPDX-License-Identifier: BSD-2-Clause */
/* Keywords of manifests that all providers share. */
#ifndef IMPORT_ETL_SCHEMA_MANIFEST_TYPES_H
#define IMPORT_ETL_SCHEMA_MANIFEST_TYPES_H

#include "import/etl/schema/xml.h"

#include <stdint.h>

/* Returns the enum etl_in of a keyword; 0: unknown. */
uint16_t etl_manifest_in(struct etl_slice word);
/* Returns the enum etl_out of a keyword; 0: unknown. */
uint16_t etl_manifest_out(struct etl_slice word);
/* Look up opcodes and levels that begin with "win:". Return false for other words. */
bool etl_manifest_opcode(struct etl_slice word, uint64_t *value);
bool etl_manifest_level(struct etl_slice word, uint64_t *value);

#endif
