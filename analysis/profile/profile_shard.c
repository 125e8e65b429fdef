/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes and reads the tables of a profile: blocks with their code, and edges between numbers of blocks. */
#include "analysis/profile/profile_shard.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/vector.h"
#include "flow/view/shard.h"

void analysis_profile_source_free(struct analysis_profile_source *source)
{
	free(source->ids);
	free(source->ends);
	*source = (struct analysis_profile_source){0};
}

const struct analysis_block_id *analysis_profile_source_find(const struct analysis_profile_source *source,
							     uint64_t table, uint64_t entry)
{
	size_t first;

	if (table >= source->tables)
		return NULL;
	first = table ? source->ends[table - 1] : 0;
	return entry < source->ends[table] - first ? &source->ids[first + entry] : NULL;
}

/* ---- writing ------------------------------------------------------------------------------------- */

static void write_entry(const struct analysis_profile_table *table, const struct analysis_profile_entry *entry,
			struct ptl_bytes *record)
{
	const uint64_t values[] = {
		entry->id.ip,      entry->id.image == FLOW_NONE ? 0 : (uint64_t)entry->id.image + 1,
		entry->id.size,    entry->instructions,
		entry->branch,     entry->mode,
		entry->code_event, entry->target,
		entry->count,      entry->taken,
		entry->not_taken,
	};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		common_write_varint(record, values[i]);
	common_write_bytes(record, table->bytes.data + entry->bytes, entry->id.size + entry->instructions);
}

static void write_edges(const struct analysis_profile_table *table, struct ptl_bytes *record)
{
	uint64_t key, count;
	size_t at = 0;

	common_write_varint(record, table->edges.used);
	while (common_hash_map_next(&table->edges, &at, &key, &count)) {
		common_write_varint(record, key >> 32);
		common_write_varint(record, key & UINT32_MAX);
		common_write_varint(record, count);
	}
}

void analysis_profile_tables_write(const struct analysis_profile_table *tables, size_t count, struct ptl_bytes *record)
{
	common_write_varint(record, count);
	for (size_t i = 0; i < count; i++) {
		common_write_varint(record, tables[i].count);
		for (size_t k = 0; k < tables[i].count; k++)
			write_entry(&tables[i], &tables[i].entries[k], record);
		write_edges(&tables[i], record);
	}
}

/* ---- reading ------------------------------------------------------------------------------------- */

static bool has_size(const struct flow_block *block)
{
	uint64_t size = 0;

	for (uint32_t i = 0; i < block->instructions; i++) {
		if (!block->lengths[i])
			return false;
		size += block->lengths[i];
	}
	return size == block->size;
}

/* Reads a block. The block points into the record. The cursor fails for an invalid block. */
static void read_block(const struct flow_timeline *timeline, struct common_cursor *record, struct flow_block *block)
{
	uint64_t image;

	*block = (struct flow_block){.ip = common_read_varint(record)};
	image = flow_shard_read_below(record, flow_timeline_image_count(timeline) + (uint64_t)1);
	block->image = image ? (uint32_t)(image - 1) : FLOW_NONE;
	block->size = (uint32_t)flow_shard_read_below(record, 1ull << 32);
	block->instructions = (uint32_t)flow_shard_read_below(record, (uint64_t)block->size + 1);
	block->branch = (uint8_t)flow_shard_read_below(record, FLOW_BRANCH_FAR_JUMP + 1);
	block->mode = (uint8_t)flow_shard_read_below(record, 65);
	block->code_event = flow_shard_read_below(record, 2);
	block->target = common_read_varint(record);
	record->failed |= block->mode != 64 && block->mode != 32 && block->mode != 16;
}

static int read_entry(struct analysis_profile_table *table, struct analysis_profile_source *source,
		      const struct flow_timeline *timeline, struct common_cursor *record)
{
	struct analysis_profile_entry *entry;
	uint64_t count, taken, not_taken;
	struct flow_block block;
	uint32_t index = 0;
	int status;

	read_block(timeline, record, &block);
	count = common_read_varint(record);
	taken = common_read_varint(record);
	not_taken = common_read_varint(record);
	block.code = common_read_bytes(record, block.size);
	block.lengths = common_read_bytes(record, block.instructions);
	if (record->failed || !block.instructions || !has_size(&block)) {
		record->failed = true;
		return 0;
	}
	status = analysis_profile_find(table, &block, &index);
	if (status < 0)
		return status;
	entry = &table->entries[index];
	entry->count += count;
	entry->taken += taken;
	entry->not_taken += not_taken;
	if (!common_vector_room(&source->ids, source->count, sizeof(*source->ids)))
		return common_fail_memory("counts of blocks", source->count * sizeof(*source->ids));
	source->ids[source->count++] = entry->id;
	return 0;
}

static int read_edges(struct analysis_profile_table *table, const struct analysis_profile_source *source,
		      struct common_cursor *record)
{
	const uint64_t edges = common_read_varint(record);
	int status = 0;

	for (uint64_t i = 0; !status && i < edges && !record->failed; i++) {
		const uint64_t ends[] = {common_read_varint(record), common_read_varint(record)};
		const uint64_t count = common_read_varint(record);
		const struct analysis_block_id *from = analysis_profile_source_find(source, source->tables - 1,
										    ends[0]);
		const struct analysis_block_id *to = analysis_profile_source_find(source, source->tables - 1, ends[1]);

		record->failed |= !from || !to;
		if (!record->failed)
			status = analysis_profile_edge(table, analysis_profile_table_find(table, from),
						       analysis_profile_table_find(table, to), count);
	}
	return status;
}

int analysis_profile_tables_read(struct analysis_profile_table *table, struct analysis_profile_source *source,
				 const struct flow_timeline *timeline, struct common_cursor *record)
{
	const uint64_t tables = common_read_varint(record);
	int status = 0;

	for (uint64_t i = 0; !status && i < tables && !record->failed; i++) {
		const uint64_t count = common_read_varint(record);

		for (uint64_t k = 0; !status && k < count && !record->failed; k++)
			status = read_entry(table, source, timeline, record);
		if (!status && !common_vector_room(&source->ends, source->tables, sizeof(*source->ends)))
			status = common_fail_memory("counts of blocks", source->tables * sizeof(*source->ends));
		if (status)
			break;
		source->ends[source->tables++] = source->count;
		status = read_edges(table, source, record);
	}
	return status;
}

/* ---- segments ------------------------------------------------------------------------------------ */

#define FIRST_VALID 0x01u
#define FIRST_KNOWN 0x02u
#define FIRST_BLOCK 0x04u
#define LAST_VALID 0x08u
#define PARTIAL_FLAGS 0x0fu

void analysis_profile_partial_write(const struct analysis_profile_partial *partial,
				    const struct analysis_profile_table *tables, struct ptl_bytes *record)
{
	const struct analysis_profile_landing *first = &partial->first;
	const struct analysis_profile_pending *last = &partial->last;

	common_write_varint(record, (first->valid ? FIRST_VALID : 0) | (first->known ? FIRST_KNOWN : 0) |
					    (first->is_block ? FIRST_BLOCK : 0) | (last->valid ? LAST_VALID : 0));
	common_write_varint(record, (uint64_t)(partial->table - tables));
	common_write_varint(record, first->ip);
	common_write_varint(record, first->entry);
	common_write_varint(record, last->branch);
	common_write_varint(record, last->entry);
	common_write_varint(record, last->next_ip);
	analysis_missing_write(&partial->missing, record);
}

/* Reads the block id of an entry; zero if not wanted. */
static struct analysis_block_id read_id(const struct analysis_profile_source *source, struct common_cursor *record,
					uint64_t table, bool wanted)
{
	const uint64_t entry = common_read_varint(record);
	const struct analysis_block_id *id = wanted ? analysis_profile_source_find(source, table, entry) : NULL;

	record->failed |= wanted && !id;
	return id ? *id : (struct analysis_block_id){0};
}

int analysis_profile_partial_read(struct analysis_profile_partial *partial,
				  const struct analysis_profile_source *source, const struct flow_segment *segment,
				  struct common_cursor *record)
{
	const unsigned flags = (unsigned)flow_shard_read_below(record, PARTIAL_FLAGS + 1);
	uint64_t table;

	table = common_read_varint(record);
	partial->first = (struct analysis_profile_landing){
		.valid = flags & FIRST_VALID,
		.known = flags & FIRST_KNOWN,
		.is_block = flags & FIRST_BLOCK,
		.ip = common_read_varint(record),
	};
	partial->first.id = read_id(source, record, table, partial->first.is_block);
	partial->last.valid = flags & LAST_VALID;
	partial->last.branch = (uint8_t)flow_shard_read_below(record, FLOW_BRANCH_FAR_JUMP + 1);
	partial->last.id = read_id(source, record, table, partial->last.valid);
	partial->last.next_ip = common_read_varint(record);
	return analysis_missing_read(&partial->missing, segment, record);
}
