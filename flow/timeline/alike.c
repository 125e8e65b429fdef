/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds images of several processes with equal data at the same address. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "flow/timeline/query.h"
#include "flow/timeline/timeline_state.h"

/*
 * All data of an image except the process. The structure is zeroed before it is filled, because the padding is
 * compared, too.
 */
struct alike_key {
	uint64_t base, size, default_base, file_offset, inode, build_id_size;
	const char *file_name; /* equal names have one pointer */
	uint32_t time_date_stamp, protection, device_major, device_minor;
	uint32_t maker, layer;
	uint8_t build_id[PTL_BUILD_ID_MAX];
	uint8_t code[PTL_HASH_SIZE], symbols[PTL_HASH_SIZE], debug[PTL_HASH_SIZE];
	bool has_code, has_symbols, has_debug;
};

static void fill_key(struct alike_key *key, const struct flow_timeline_image *image, uint32_t maker)
{
	const struct ptl_image_event *data = &image->data;

	memset(key, 0, sizeof(*key));
	key->maker = maker;
	key->layer = image->layer;
	key->base = data->base;
	key->size = data->size;
	key->default_base = data->default_base;
	key->file_offset = data->file_offset;
	key->inode = data->inode;
	key->build_id_size = data->build_id_size;
	key->file_name = data->file_name;
	key->time_date_stamp = data->time_date_stamp;
	key->protection = data->protection;
	key->device_major = data->device_major;
	key->device_minor = data->device_minor;
	memcpy(key->build_id, data->build_id, data->build_id_size);
	key->has_code = data->has_code;
	key->has_symbols = data->has_symbols;
	key->has_debug = data->has_debug;
	if (data->has_code)
		memcpy(key->code, data->code, sizeof(key->code));
	if (data->has_symbols)
		memcpy(key->symbols, data->symbols, sizeof(key->symbols));
	if (data->has_debug)
		memcpy(key->debug, data->debug, sizeof(key->debug));
}

int flow_timeline_settle_alike(struct flow_timeline *timeline)
{
	struct common_byte_map known = {0};
	int status = 0;

	timeline->alike = calloc(timeline->image_count + 1, sizeof(*timeline->alike));
	if (!timeline->alike)
		return common_fail_memory("timeline", timeline->image_count * sizeof(*timeline->alike));
	for (size_t i = 0; !status && i < timeline->image_count; i++) {
		struct alike_key key;
		const uint64_t *first;

		fill_key(&key, &timeline->images[i].data, flow_timeline_maker(timeline, (uint32_t)i));
		first = common_byte_map_get(&known, &key, sizeof(key));
		timeline->alike[i] = first ? (uint32_t)*first : (uint32_t)i;
		if (!first)
			status = common_byte_map_put(&known, &key, sizeof(key), i);
	}
	common_byte_map_free(&known);
	return status;
}

uint32_t flow_timeline_alike(const struct flow_timeline *timeline, uint32_t image)
{
	return image == FLOW_NONE ? image : timeline->alike[image];
}
