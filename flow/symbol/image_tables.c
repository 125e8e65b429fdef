/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables by image. Each table is read once. */
#include "flow/symbol/image_tables.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "common/error.h"
#include "common/vector.h"
#include "elf/debug_search.h"

/* Marks "no table" in by_image, where NULL means "not read yet". Never dereferenced. */
static char nothing_here;
#define NOTHING ((void *)&nothing_here)

int flow_image_tables_open(struct flow_image_tables *tables, const struct flow_image_tables_kind *kind, void *context,
			   struct ptl_trace *trace, const struct flow_timeline *timeline)
{
	const size_t count = flow_timeline_image_count(timeline);

	*tables = (struct flow_image_tables){
		.kind = kind,
		.context = context,
		.timeline = timeline,
		.image_count = count,
		.by_image = calloc(count + 1, sizeof(*tables->by_image)),
		.trace = trace,
	};
	if (!tables->by_image)
		return common_fail_memory("tables of images", count * sizeof(*tables->by_image));
	pthread_mutex_init(&tables->lock, NULL);
	return 0;
}

void flow_image_tables_close(struct flow_image_tables *tables)
{
	for (size_t i = 0; i < tables->count; i++)
		if (tables->list[i])
			tables->kind->free(tables->list[i]);
	free(tables->list);
	free(tables->by_image);
	common_byte_map_free(&tables->by_key);
	common_byte_map_free(&tables->by_build_id);
	pthread_mutex_destroy(&tables->lock);
}

/* Key of an image's table. Images with equal keys share a table. */
struct key {
	const uint8_t *bytes;
	size_t size;                        /* 0: no table is possible */
	const struct flow_made_layer *made; /* if not NULL, bytes is this pointer */
};

/*
 * Makes the key: the hash of the trace's blob (NULL: no blob), unless folders of debug files were given; otherwise the
 * build id; otherwise the names of code made at run time.
 */
static void make_key(const struct flow_image_tables *tables, const struct ptl_image_event *image, uint32_t layer,
		     struct key *key)
{
	const uint8_t *hash = tables->kind->blob(image);

	*key = (struct key){0};
	if (hash && !(elf_debug_path_given() && image->build_id_size)) {
		key->bytes = hash;
		key->size = PTL_HASH_SIZE;
	} else if (image->build_id_size) {
		key->bytes = image->build_id;
		key->size = image->build_id_size;
	} else if (image->base == image->default_base) {
		key->made = flow_timeline_made(tables->timeline, image->process_id, layer);
		key->bytes = (const uint8_t *)&key->made;
		key->size = key->made ? sizeof(key->made) : 0;
	}
}

/* Lists the attachments by build id. If several attachments have one build id, the first attachment counts. */
static void list_attachments(struct flow_image_tables *tables)
{
	struct ptl_trace *trace = tables->trace;
	const size_t count = trace ? ptl_attachment_count(trace) : 0;

	tables->listed = true;
	for (size_t i = 0; i < count; i++) {
		const struct ptl_attachment *attachment = ptl_attachment_at(trace, i);

		if (attachment->kind != tables->kind->attachment || !attachment->id_size ||
		    common_byte_map_get(&tables->by_build_id, attachment->id, attachment->id_size))
			continue;
		if (common_byte_map_put(&tables->by_build_id, attachment->id, attachment->id_size, i) < 0)
			tables->failed++;
	}
}

/*
 * Replaces the image's blob by an attached blob. An attachment was found after the image was reported, and takes
 * precedence.
 */
static void attach_blob(struct flow_image_tables *tables, struct ptl_image_event *image)
{
	const uint64_t *found;

	if (!tables->listed)
		list_attachments(tables);
	if (!image->build_id_size)
		return;
	found = common_byte_map_get(&tables->by_build_id, image->build_id, image->build_id_size);
	if (found)
		tables->kind->attach(image, ptl_attachment_at(tables->trace, *found)->hash);
}

/* Finds or makes the table. The caller holds the lock. */
static void *find_or_make(struct flow_image_tables *tables, const struct ptl_image_event *reported, uint32_t layer)
{
	struct ptl_image_event completed = *reported;
	const struct ptl_image_event *const image = &completed;
	struct key key;
	const uint64_t *known;

	attach_blob(tables, &completed);
	make_key(tables, image, layer, &key);
	if (!key.size)
		return NULL;
	known = common_byte_map_get(&tables->by_key, key.bytes, key.size);
	if (known)
		return tables->list[*known];
	if (!common_vector_room(&tables->list, tables->count, sizeof(*tables->list)) ||
	    common_byte_map_put(&tables->by_key, key.bytes, key.size, tables->count) < 0) {
		tables->failed++;
		return NULL;
	}
	tables->list[tables->count] = tables->kind->make(tables->context, image, reported, key.made);
	return tables->list[tables->count++];
}

void *flow_image_tables_get(struct flow_image_tables *tables, uint32_t image)
{
	const struct flow_timeline_image *found;
	void *table;

	if (image >= tables->image_count)
		return NULL;
	found = flow_timeline_image(tables->timeline, image);
	table = atomic_load_explicit(&tables->by_image[image], memory_order_acquire);
	if (table)
		return table == NOTHING ? NULL : table;
	pthread_mutex_lock(&tables->lock);
	table = find_or_make(tables, &found->data, found->layer);
	if (!atomic_load(&tables->by_image[image])) {
		tables->requested++;
		tables->found += table != NULL;
	}
	atomic_store_explicit(&tables->by_image[image], table ? table : NOTHING, memory_order_release);
	pthread_mutex_unlock(&tables->lock);
	return table;
}

void *flow_image_tables_of(struct flow_image_tables *tables, const struct ptl_image_event *image)
{
	void *table;

	pthread_mutex_lock(&tables->lock);
	table = find_or_make(tables, image, 0);
	pthread_mutex_unlock(&tables->lock);
	return table;
}
