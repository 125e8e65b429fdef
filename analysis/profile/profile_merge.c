/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts blocks of processes to blocks of files: sorts all blocks, and joins equal neighbours. */
#include "analysis/profile/profile_merge.h"

#include <stdlib.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/vector.h"
#include "flow/symbol/symbol.h"
#include "flow/timeline/query.h"

/* An entry of a table, with its sort keys. */
struct place {
	uint64_t address; /* in the file's address space */
	uint32_t content;
	uint32_t size;
	uint32_t table;
	uint32_t entry;
};

struct merging {
	const struct flow_timeline *timeline;
	struct analysis_profile *profile;
	uint32_t *contents;             /* by image: content + 1; 0: not known yet */
	struct common_byte_map by_file; /* by build id or path: index of a content */
	const struct analysis_profile_table *tables;
	size_t table_count;
	size_t **indexes;     /* by table and entry: index of the block */
	struct ptl_bytes key; /* key of by_file */
	struct place *places;
	size_t place_count;
	size_t edge_capacity;
};

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* ---- contents ---------------------------------------------------------------------------- */

static int find_content(struct merging *merging, uint32_t image, uint32_t *content)
{
	const uint32_t maker = flow_timeline_maker(merging->timeline, image);
	const uint32_t layer = flow_timeline_image(merging->timeline, image)->layer;
	const struct ptl_image_event *data = &flow_timeline_image(merging->timeline, image)->data;
	struct ptl_bytes *key = &merging->key;
	struct analysis_profile *profile = merging->profile;
	const uint64_t *known;

	key->size = 0;
	common_write_le(key, maker, 4);
	common_write_le(key, layer, 4);
	if (data->build_id_size)
		common_write_bytes(key, data->build_id, data->build_id_size);
	else
		common_write_bytes(key, data->file_name, strlen(data->file_name));
	if (key->failed)
		return common_fail_memory("images", key->size);
	known = common_byte_map_get(&merging->by_file, key->data, key->size);
	if (known) {
		*content = (uint32_t)*known;
		return 0;
	}
	if (!common_vector_room(&profile->contents, profile->content_count, sizeof(*profile->contents)))
		return common_fail_memory("images", profile->content_count * sizeof(*profile->contents));
	*content = (uint32_t)profile->content_count;
	profile->contents[profile->content_count++] = (struct analysis_content){
		.path = data->file_name,
		.build_id = data->build_id,
		.build_id_size = data->build_id_size,
		.image = image,
		.maker = maker,
		.layer = layer,
	};
	return common_byte_map_put(&merging->by_file, key->data, key->size, *content);
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
		struct analysis_content *own = &merging->profile->contents[*content];

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

static const struct analysis_profile_entry *entry_of(const struct merging *merging, const struct place *place)
{
	return &merging->tables[place->table].entries[place->entry];
}

/* Finds the places of entries in files. Contents are numbered in the order of their first entry. */
static int find_places(struct merging *merging)
{
	size_t count = 0;
	int status = 0;

	for (size_t i = 0; i < merging->table_count; i++)
		count += merging->tables[i].count;
	merging->places = malloc((count + 1) * sizeof(*merging->places));
	if (!merging->places)
		return common_fail_memory("blocks", count * sizeof(*merging->places));
	for (uint32_t i = 0; !status && i < merging->table_count; i++) {
		const struct analysis_profile_table *table = &merging->tables[i];

		for (uint32_t k = 0; !status && k < table->count; k++) {
			const struct analysis_block_id *id = &table->entries[k].id;
			struct place *place = &merging->places[merging->place_count++];

			*place = (struct place){.address = own_address(merging, id->image, id->ip),
						.size = id->size,
						.table = i,
						.entry = k};
			/*
			 * Equal images count as one image, because the result must not depend on the order of decoding.
			 */
			status = content_of(merging, flow_timeline_alike(merging->timeline, id->image),
					    &place->content);
		}
	}
	return status;
}

static int compare_contents(const struct analysis_content *a, const struct analysis_content *b)
{
	const size_t least = a->build_id_size < b->build_id_size ? a->build_id_size : b->build_id_size;
	int order = strcmp(a->path, b->path);

	if (!order)
		order = memcmp(a->build_id, b->build_id, least);
	if (!order)
		order = compare_numbers(a->build_id_size, b->build_id_size);
	if (!order)
		order = compare_numbers(a->maker, b->maker);
	return order ? order : compare_numbers(a->layer, b->layer);
}

static int by_content(const void *a, const void *b, void *contents)
{
	return compare_contents(&((const struct analysis_content *)contents)[*(const uint32_t *)a],
				&((const struct analysis_content *)contents)[*(const uint32_t *)b]);
}

static int sort_contents(struct merging *merging)
{
	struct analysis_profile *profile = merging->profile;
	const size_t count = profile->content_count;
	uint32_t *order = calloc(count + 1, sizeof(*order)), *place = calloc(count + 1, sizeof(*place));
	struct analysis_content *sorted = calloc(count + 1, sizeof(*sorted));
	const bool good = order && place && sorted;

	for (uint32_t i = 0; good && i < count; i++)
		order[i] = i;
	if (good && count)
		qsort_r(order, count, sizeof(*order), by_content, profile->contents);
	for (uint32_t i = 0; good && i < count; i++) {
		sorted[i] = profile->contents[order[i]];
		place[order[i]] = i;
	}
	for (size_t i = 0; good && i < merging->place_count; i++)
		if (merging->places[i].content != FLOW_NONE)
			merging->places[i].content = place[merging->places[i].content];
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

/* Compares two blocks at one place. Bytes of an image's file are equal at equal places; other bytes are compared. */
static int compare_code(const struct merging *merging, const struct place *a, const struct place *b)
{
	const struct analysis_profile_entry *left = entry_of(merging, a), *right = entry_of(merging, b);
	int order = compare_numbers(left->code_event, right->code_event);

	if (!order && left->code_event)
		order = memcmp(merging->tables[a->table].bytes.data + left->bytes,
			       merging->tables[b->table].bytes.data + right->bytes, a->size);
	return order ? order : compare_numbers(left->mode, right->mode);
}

static int by_place(const void *a_, const void *b_, void *merging)
{
	const struct place *a = a_, *b = b_;
	int order = compare_numbers(a->content, b->content);

	if (!order)
		order = compare_numbers(a->address, b->address);
	if (!order)
		order = compare_numbers(a->size, b->size);
	return order ? order : compare_code(merging, a, b);
}

static void start_block(struct merging *merging, const struct place *place)
{
	const struct analysis_profile_entry *entry = entry_of(merging, place);
	const struct analysis_profile_table *table = &merging->tables[place->table];
	struct analysis_profile *profile = merging->profile;

	if (entry->id.size > profile->largest)
		profile->largest = entry->id.size;
	profile->blocks[profile->block_count++] = (struct analysis_profile_block){
		.address = place->address,
		.target = entry->target ? own_address(merging, entry->id.image, entry->target) : 0,
		.content = place->content,
		.image = flow_timeline_alike(merging->timeline, entry->id.image),
		.instructions = entry->instructions,
		.size = entry->id.size,
		.branch = entry->branch,
		.mode = entry->mode,
		.code_event = entry->code_event,
		.code = table->bytes.data + entry->bytes,
		.lengths = table->bytes.data + entry->bytes + entry->id.size,
	};
}

static void add_entry(struct merging *merging, const struct analysis_profile_entry *entry)
{
	struct analysis_profile *profile = merging->profile;
	struct analysis_profile_block *block = &profile->blocks[profile->block_count - 1];
	const uint32_t image = flow_timeline_alike(merging->timeline, entry->id.image);

	block->count += entry->count;
	profile->instructions += entry->count * entry->instructions;
	block->taken += entry->taken;
	block->not_taken += entry->not_taken;
	/* The lowest image is chosen, because the result must not depend on the order of counting. */
	if (image < block->image)
		block->image = image;
}

/* Makes the sorted blocks, from sorted places. */
static int make_blocks(struct merging *merging)
{
	const struct place *places = merging->places;
	const size_t count = merging->place_count;

	merging->profile->blocks = malloc((count + 1) * sizeof(*merging->profile->blocks));
	if (!merging->profile->blocks)
		return common_fail_memory("blocks", count * sizeof(*merging->profile->blocks));
	for (size_t i = 0; i < merging->table_count; i++) {
		merging->indexes[i] = malloc((merging->tables[i].count + 1) * sizeof(*merging->indexes[i]));
		if (!merging->indexes[i])
			return common_fail_memory("blocks", merging->tables[i].count * sizeof(*merging->indexes[i]));
	}
	for (size_t i = 0; i < count; i++) {
		if (!i || by_place(&places[i - 1], &places[i], merging) != 0)
			start_block(merging, &places[i]);
		add_entry(merging, entry_of(merging, &places[i]));
		merging->indexes[places[i].table][places[i].entry] = merging->profile->block_count - 1;
	}
	return 0;
}

/* ---- edges ------------------------------------------------------------------------------- */

static int add_edge(struct merging *merging, size_t from, size_t to, uint64_t count)
{
	struct analysis_profile *profile = merging->profile;

	if (!COMMON_VECTOR_GROW(profile->edges, merging->edge_capacity, profile->edge_count + 1))
		return common_fail_memory("edges", profile->edge_count * sizeof(*profile->edges));
	profile->edges[profile->edge_count++] = (struct analysis_profile_edge){from, to, count};
	return 0;
}

static int add_edges(struct merging *merging, size_t number)
{
	const size_t *indexes = merging->indexes[number];
	size_t at = 0;
	uint64_t key, count;
	int status = 0;

	while (!status && common_hash_map_next(&merging->tables[number].edges, &at, &key, &count))
		status = add_edge(merging, indexes[key >> 32], indexes[key & UINT32_MAX], count);
	return status;
}

/* Finds the block for a block of any process; SIZE_MAX: not found. */
static size_t find_block(const struct merging *merging, const struct analysis_block_id *id)
{
	for (size_t i = 0; i < merging->table_count; i++) {
		const uint32_t entry = analysis_profile_table_find(&merging->tables[i], id);

		if (entry != FLOW_NONE)
			return merging->indexes[i][entry];
	}
	return SIZE_MAX;
}

static int add_border(struct merging *merging, const struct analysis_border *border)
{
	const size_t from = find_block(merging, &border->from),
		     to = border->count ? find_block(merging, &border->to) : SIZE_MAX;

	if (from == SIZE_MAX)
		return 0;
	merging->profile->blocks[from].taken += border->taken;
	merging->profile->blocks[from].not_taken += border->not_taken;
	return to == SIZE_MAX ? 0 : add_edge(merging, from, to, border->count);
}

static int by_edge(const void *a_, const void *b_)
{
	const struct analysis_profile_edge *a = a_, *b = b_;
	const int order = compare_numbers(a->from, b->from);

	return order ? order : compare_numbers(a->to, b->to);
}

/* Sorts the edges, and joins equal edges. */
static void sort_edges(struct analysis_profile *profile)
{
	struct analysis_profile_edge *edges = profile->edges;
	size_t kept = 0;

	if (!profile->edge_count)
		return;
	qsort(edges, profile->edge_count, sizeof(*edges), by_edge);
	for (size_t i = 1; i < profile->edge_count; i++) {
		if (by_edge(&edges[kept], &edges[i]) == 0)
			edges[kept].count += edges[i].count;
		else
			edges[++kept] = edges[i];
	}
	profile->edge_count = kept + 1;
}

/* Moves the code's memory from the tables to the profile. */
static int take_bytes(struct analysis_profile *profile, struct analysis_profile_table *tables, size_t count)
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

int analysis_profile_merge(const struct flow_timeline *timeline, struct analysis_profile_table *tables,
			   size_t table_count, const struct analysis_border *borders, size_t border_count,
			   struct analysis_profile *profile)
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

	if (!status)
		status = find_places(&merging);
	if (!status)
		status = sort_contents(&merging);
	if (!status)
		qsort_r(merging.places, merging.place_count, sizeof(*merging.places), by_place, &merging);
	if (!status)
		status = make_blocks(&merging);
	for (size_t i = 0; !status && i < table_count; i++)
		status = add_edges(&merging, i);
	for (size_t i = 0; !status && i < border_count; i++)
		status = add_border(&merging, &borders[i]);
	if (!status)
		sort_edges(profile);
	if (!status)
		status = take_bytes(profile, tables, table_count);
	common_byte_map_free(&merging.by_file);
	common_bytes_free(&merging.key);
	for (size_t i = 0; merging.indexes && i < table_count; i++)
		free(merging.indexes[i]);
	free(merging.indexes);
	free(merging.places);
	free(merging.contents);
	return status;
}

void analysis_profile_free(struct analysis_profile *profile)
{
	for (size_t i = 0; i < profile->byte_count; i++)
		common_bytes_free(&profile->bytes[i]);
	free(profile->bytes);
	free(profile->contents);
	free(profile->blocks);
	free(profile->edges);
	analysis_missing_free(&profile->missing);
	*profile = (struct analysis_profile){0};
}
