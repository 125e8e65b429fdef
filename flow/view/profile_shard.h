/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of a profile in files of shards. Blocks are known by table and entry, as hashes differ from process to process. */
#ifndef FLOW_VIEW_PROFILE_SHARD_H
#define FLOW_VIEW_PROFILE_SHARD_H

#include "flow/view/profile_state.h"

/* What the blocks of a source are here. Zero-initialised is empty. */
struct flow_profile_source {
	struct flow_block_id *ids; /* of all its tables, one after the other */
	size_t count;
	size_t *ends; /* behind the last of each table */
	size_t tables;
};

void flow_profile_source_free(struct flow_profile_source *source);
/* NULL: it has no such entry. */
const struct flow_block_id *flow_profile_source_find(const struct flow_profile_source *source, uint64_t table,
						     uint64_t entry);

/* Appends all tables. */
void flow_profile_tables_write(const struct flow_profile_table *tables, size_t count, struct ptl_bytes *record);
/* Adds the tables of a source to the one table. PTL_NO_MEMORY; the cursor fails where a table cannot be like this. */
int flow_profile_tables_read(struct flow_profile_table *table, struct flow_profile_source *source,
			     const struct flow_timeline *timeline, struct common_cursor *record);
/* A segment's result; tables: the first of all workers. PTL_NO_MEMORY; the cursor fails where there is no such block. */
void flow_profile_partial_write(const struct flow_profile_partial *partial, const struct flow_profile_table *tables,
				struct ptl_bytes *record);
int flow_profile_partial_read(struct flow_profile_partial *partial, const struct flow_profile_source *source,
			      const struct flow_segment *segment, struct common_cursor *record);

#endif
