/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables of a profile in files of shards. Blocks are identified by table and entry, because hashes differ between
 * processes.
 */
#ifndef ANALYSIS_PROFILE_PROFILE_SHARD_H
#define ANALYSIS_PROFILE_PROFILE_SHARD_H

#include "analysis/profile/profile_state.h"

/* Block ids of a source. Zero-initialised, empty. */
struct analysis_profile_source {
	struct analysis_block_id *ids; /* ids of all tables, in sequence */
	size_t count;
	size_t *ends; /* by table: index behind the table's last id */
	size_t tables;
};

void analysis_profile_source_free(struct analysis_profile_source *source);
/* Returns the id of an entry. NULL: no such entry. */
const struct analysis_block_id *analysis_profile_source_find(const struct analysis_profile_source *source,
							     uint64_t table, uint64_t entry);

/* Appends all tables to the record. */
void analysis_profile_tables_write(const struct analysis_profile_table *tables, size_t count, struct ptl_bytes *record);
/* Adds the tables of a source to one table. Returns PTL_NO_MEMORY. The cursor fails for an invalid table. */
int analysis_profile_tables_read(struct analysis_profile_table *table, struct analysis_profile_source *source,
				 const struct flow_timeline *timeline, struct common_cursor *record);
/*
 * Write and read a segment's result. tables: first table of all workers. analysis_profile_partial_read returns
 * PTL_NO_MEMORY. The cursor fails for an unknown block.
 */
void analysis_profile_partial_write(const struct analysis_profile_partial *partial,
				    const struct analysis_profile_table *tables, struct ptl_bytes *record);
int analysis_profile_partial_read(struct analysis_profile_partial *partial,
				  const struct analysis_profile_source *source, const struct flow_segment *segment,
				  struct common_cursor *record);

#endif
