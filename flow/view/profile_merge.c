/* SPDX-License-Identifier: BSD-2-Clause */
/* From blocks of processes to blocks of files: one table of all, which is then sorted. */
#include "flow/view/profile_merge.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/vector.h"
#include "flow/symbol/symbol.h"
#include "flow/timeline/query.h"

struct merging {
	const struct flow_timeline *timeline;
	struct flow_profile *profile;
	uint32_t *contents;             /* of each image + 1; 0: not asked yet */
	struct common_byte_map by_file; /* build id, or path: index of a content */
	const struct flow_profile_table *tables;
	size_t table_count;
	size_t **indexes;           /* for each table: of each entry, that of its block */
	struct flow_block_id *keys; /* of each block, as files have it */
	size_t key_capacity;
	struct common_row_index by_key; /* of keys */
	struct common_hash_map edges;   /* index in profile->edges */
};

/* ---- contents ---------------------------------------------------------------------------- */

static int find_content(struct merging *merging, uint32_t image, uint32_t *content)
{
	const struct ptl_image_event *data = &flow_timeline_image(merging->timeline, image)->data;
	const void *key = data->build_id_size ? (const void *)data->build_id : data->file_name;
	const size_t size = data->build_id_size ? data->build_id_size : strlen(data->file_name);
	struct flow_profile *profile = merging->profile;
	const uint64_t *known = common_byte_map_get(&merging->by_file, key, size);

	if (known) {
		*content = (uint32_t)*known;
		return 0;
	}
	if (!common_vector_room(&profile->contents, profile->content_count, sizeof(*profile->contents)))
		return common_fail_memory("images", profile->content_count * sizeof(*profile->contents));
	*content = (uint32_t)profile->content_count;
	profile->contents[profile->content_count++] = (struct flow_content){
		.path = data->file_name,
		.build_id = data->build_id,
		.build_id_size = data->build_id_size,
		.image = image,
	};
	return common_byte_map_put(&merging->by_file, key, size, *content);
}

static int content_of(struct merging *merging, uint32_t image, uint32_t *content)
{
	int status = 0;

	*content = FLOW_NONE;
	if (image == FLOW_NONE)
		return 0;
	if (!merging->contents[image]) {
		status = find_content(merging, image, content);
		merging->contents[image] = *content + 1;
	}
	*content = merging->contents[image] - 1;
	if (!status && image < merging->profile->contents[*content].image) {
		const struct ptl_image_event *data = &flow_timeline_image(merging->timeline, image)->data;
		struct flow_content *own = &merging->profile->contents[*content];

		own->path = data->file_name;
		own->build_id = data->build_id;
		own->image = image;
	}
	return status;
}

/* ---- blocks ------------------------------------------------------------------------------ */

static uint64_t own_address(const struct merging *merging, uint32_t image, uint64_t ip)
{
	return image == FLOW_NONE ? ip : flow_image_address(flow_timeline_image(merging->timeline, image), ip);
}

static int add_block(struct merging *merging, const struct flow_profile_table *table,
		     const struct flow_profile_entry *entry, size_t *index)
{
	/* As if all that are alike were one: it must not depend on how segments came to be decoded. */
	const uint32_t image = flow_timeline_alike(merging->timeline, entry->id.image);
	struct flow_block_id key = {.ip = own_address(merging, entry->id.image, entry->id.ip),
				    .code = entry->id.code,
				    .size = entry->id.size};
	struct flow_profile *profile = merging->profile;
	struct common_rows rows = {merging->keys, sizeof(key), sizeof(key)};
	int status = content_of(merging, image, &key.image);
	uint32_t known;

	if (status)
		return status;
	known = common_row_index_find(&merging->by_key, &rows, &key);
	if (known != COMMON_NO_ROW) {
		*index = known;
		return 0;
	}
	if (profile->block_count == COMMON_NO_ROW - 1 ||
	    !COMMON_VECTOR_GROW(merging->keys, merging->key_capacity, profile->block_count + 1))
		return common_fail_memory("blocks", profile->block_count * sizeof(key));
	rows.rows = merging->keys;
	if (!common_vector_room(&profile->blocks, profile->block_count, sizeof(*profile->blocks)))
		return common_fail_memory("blocks", profile->block_count * sizeof(*profile->blocks));
	*index = profile->block_count++;
	if (entry->id.size > profile->largest)
		profile->largest = entry->id.size;
	profile->blocks[*index] = (struct flow_profile_block){
		.address = key.ip,
		.target = entry->target ? own_address(merging, entry->id.image, entry->target) : 0,
		.content = key.image,
		.image = image,
		.instructions = entry->instructions,
		.size = entry->id.size,
		.branch = entry->branch,
		.mode = entry->mode,
		.code_event = entry->code_event,
		.code = table->bytes.data + entry->bytes,
		.lengths = table->bytes.data + entry->bytes + entry->id.size,
	};
	merging->keys[*index] = key;
	return common_row_index_add(&merging->by_key, &rows, (uint32_t)*index);
}

static int add_entry(struct merging *merging, const struct flow_profile_table *table,
		     const struct flow_profile_entry *entry, size_t *index)
{
	struct flow_profile_block *block;
	int status = add_block(merging, table, entry, index);

	if (status)
		return status;
	block = &merging->profile->blocks[*index];
	block->count += entry->count;
	merging->profile->instructions += entry->count * entry->instructions;
	block->taken += entry->taken;
	block->not_taken += entry->not_taken;
	/* Which process's image it is must not depend on who counted first. */
	if (flow_timeline_alike(merging->timeline, entry->id.image) < block->image)
		block->image = flow_timeline_alike(merging->timeline, entry->id.image);
	return 0;
}

/* ---- edges ------------------------------------------------------------------------------- */

static int add_edge(struct merging *merging, size_t from, size_t to, uint64_t count)
{
	struct flow_profile *profile = merging->profile;
	const uint64_t key = (uint64_t)from << 32 | to;
	const uint64_t *known = common_hash_map_get(&merging->edges, key);

	if (known) {
		profile->edges[*known].count += count;
		return 0;
	}
	if (!common_vector_room(&profile->edges, profile->edge_count, sizeof(*profile->edges)))
		return common_fail_memory("edges", profile->edge_count * sizeof(*profile->edges));
	profile->edges[profile->edge_count] = (struct flow_profile_edge){from, to, count};
	return common_hash_map_put(&merging->edges, key, profile->edge_count++);
}

static int add_table(struct merging *merging, size_t number)
{
	const struct flow_profile_table *table = &merging->tables[number];
	size_t *indexes = calloc(table->count + 1, sizeof(*indexes)), at = 0;
	uint64_t key, count;
	int status = indexes ? 0 : common_fail_memory("blocks", table->count * sizeof(*indexes));

	merging->indexes[number] = indexes;
	for (size_t i = 0; !status && i < table->count; i++)
		status = add_entry(merging, table, &table->entries[i], &indexes[i]);
	while (!status && common_hash_map_next(&table->edges, &at, &key, &count))
		status = add_edge(merging, indexes[key >> 32], indexes[key & UINT32_MAX], count);
	return status;
}

/* The block that a block of any process stands for; SIZE_MAX: there is none. */
static size_t find_block(const struct merging *merging, const struct flow_block_id *id)
{
	for (size_t i = 0; i < merging->table_count; i++) {
		const struct common_rows rows = flow_profile_rows(&merging->tables[i]);
		const uint32_t row = common_row_index_find(&merging->tables[i].places, &rows, id);

		if (row != COMMON_NO_ROW)
			return merging->indexes[i][row];
	}
	return SIZE_MAX;
}

static int add_border(struct merging *merging, const struct flow_border *border)
{
	const size_t from = find_block(merging, &border->from),
		     to = border->count ? find_block(merging, &border->to) : SIZE_MAX;

	if (from == SIZE_MAX)
		return 0;
	merging->profile->blocks[from].taken += border->taken;
	merging->profile->blocks[from].not_taken += border->not_taken;
	return to == SIZE_MAX ? 0 : add_edge(merging, from, to, border->count);
}

/* ---- order ------------------------------------------------------------------------------- */

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_contents(const struct flow_content *a, const struct flow_content *b)
{
	const size_t least = a->build_id_size < b->build_id_size ? a->build_id_size : b->build_id_size;
	int order = strcmp(a->path, b->path);

	if (!order)
		order = memcmp(a->build_id, b->build_id, least);
	return order ? order : compare(a->build_id_size, b->build_id_size);
}

static int by_content(const void *a, const void *b, void *contents)
{
	return compare_contents(&((const struct flow_content *)contents)[*(const uint32_t *)a],
				&((const struct flow_content *)contents)[*(const uint32_t *)b]);
}

static int by_block(const void *a_, const void *b_, void *blocks)
{
	const struct flow_profile_block *a = (const struct flow_profile_block *)blocks + *(const size_t *)a_;
	const struct flow_profile_block *b = (const struct flow_profile_block *)blocks + *(const size_t *)b_;
	int order = compare(a->content, b->content);

	if (!order)
		order = compare(a->address, b->address);
	if (!order)
		order = compare(a->size, b->size);
	if (!order)
		order = memcmp(a->code, b->code, a->size);
	return order ? order : compare(a->mode, b->mode);
}

static int by_edge(const void *a_, const void *b_)
{
	const struct flow_profile_edge *a = a_, *b = b_;
	const int order = compare(a->from, b->from);

	return order ? order : compare(a->to, b->to);
}

static int sort_contents(struct flow_profile *profile)
{
	const size_t count = profile->content_count;
	uint32_t *order = calloc(count + 1, sizeof(*order)), *place = calloc(count + 1, sizeof(*place));
	struct flow_content *sorted = calloc(count + 1, sizeof(*sorted));
	const bool good = order && place && sorted;

	for (uint32_t i = 0; good && i < count; i++)
		order[i] = i;
	if (good && count)
		qsort_r(order, count, sizeof(*order), by_content, profile->contents);
	for (uint32_t i = 0; good && i < count; i++) {
		sorted[i] = profile->contents[order[i]];
		place[order[i]] = i;
	}
	for (size_t i = 0; good && i < profile->block_count; i++)
		if (profile->blocks[i].content != FLOW_NONE)
			profile->blocks[i].content = place[profile->blocks[i].content];
	if (good) {
		free(profile->contents);
		profile->contents = sorted;
	} else {
		free(sorted);
	}
	free(order);
	free(place);
	return good ? 0 : common_fail_memory("images", count * sizeof(*sorted));
}

static int sort_blocks(struct flow_profile *profile)
{
	const size_t count = profile->block_count;
	size_t *order = calloc(count + 1, sizeof(*order)), *place = calloc(count + 1, sizeof(*place));
	struct flow_profile_block *sorted = calloc(count + 1, sizeof(*sorted));
	const bool good = order && place && sorted;

	for (size_t i = 0; good && i < count; i++)
		order[i] = i;
	if (good && count)
		qsort_r(order, count, sizeof(*order), by_block, profile->blocks);
	for (size_t i = 0; good && i < count; i++) {
		sorted[i] = profile->blocks[order[i]];
		place[order[i]] = i;
	}
	for (size_t i = 0; good && i < profile->edge_count; i++) {
		profile->edges[i].from = place[profile->edges[i].from];
		profile->edges[i].to = place[profile->edges[i].to];
	}
	if (good) {
		free(profile->blocks);
		profile->blocks = sorted;
	} else {
		free(sorted);
	}
	free(order);
	free(place);
	if (good && profile->edge_count)
		qsort(profile->edges, profile->edge_count, sizeof(*profile->edges), by_edge);
	return good ? 0 : common_fail_memory("blocks", count * sizeof(*sorted));
}

/* Code stays where it is: the profile owns it from here on. */
static int take_bytes(struct flow_profile *profile, struct flow_profile_table *tables, size_t count)
{
	profile->bytes = calloc(count, sizeof(*profile->bytes));
	if (!profile->bytes)
		return common_fail_memory("code of blocks", count * sizeof(*profile->bytes));
	profile->byte_count = count;
	for (size_t i = 0; i < count; i++) {
		profile->bytes[i] = tables[i].bytes;
		tables[i].bytes = (struct ptl_bytes){0};
	}
	return 0;
}

int flow_profile_merge(const struct flow_timeline *timeline, struct flow_profile_table *tables, size_t table_count,
		       const struct flow_border *borders, size_t border_count, struct flow_profile *profile)
{
	const size_t images = flow_timeline_image_count(timeline);
	struct merging merging = {
		.timeline = timeline,
		.profile = profile,
		.tables = tables,
		.table_count = table_count,
		.contents = calloc(images + 1, 4),
		.indexes = calloc(table_count, sizeof(*merging.indexes)),
	};
	int status = merging.contents && merging.indexes ? 0 : common_fail_memory("images", images * 4);

	for (size_t i = 0; !status && i < table_count; i++)
		status = add_table(&merging, i);
	for (size_t i = 0; !status && i < border_count; i++)
		status = add_border(&merging, &borders[i]);
	if (!status)
		status = sort_contents(profile);
	if (!status)
		status = sort_blocks(profile);
	if (!status)
		status = take_bytes(profile, tables, table_count);
	common_byte_map_free(&merging.by_file);
	for (size_t i = 0; merging.indexes && i < table_count; i++)
		free(merging.indexes[i]);
	free(merging.indexes);
	free(merging.keys);
	common_row_index_free(&merging.by_key);
	common_hash_map_free(&merging.edges);
	free(merging.contents);
	return status;
}

void flow_profile_free(struct flow_profile *profile)
{
	for (size_t i = 0; i < profile->byte_count; i++)
		common_bytes_free(&profile->bytes[i]);
	free(profile->bytes);
	free(profile->contents);
	free(profile->blocks);
	free(profile->edges);
	flow_missing_free(&profile->missing);
	*profile = (struct flow_profile){0};
}
