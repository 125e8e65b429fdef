/* SPDX-License-Identifier: BSD-2-Clause */
/* Words of manifests that all providers share. */
#ifndef IMPORT_ETL_SCHEMA_MANIFEST_TYPES_H
#define IMPORT_ETL_SCHEMA_MANIFEST_TYPES_H

#include "import/etl/schema/xml.h"

#include <stdint.h>

/* enum etl_in, or 0 for a word that is none. */
uint16_t etl_manifest_in(struct etl_slice word);
/* enum etl_out, or 0. */
uint16_t etl_manifest_out(struct etl_slice word);
/* Numbers of opcodes and levels that begin with "win:"; false: another one. */
bool etl_manifest_opcode(struct etl_slice word, uint64_t *value);
bool etl_manifest_level(struct etl_slice word, uint64_t *value);

#endif
