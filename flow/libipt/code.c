/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gives libipt the code of one version of an address space. Bytes of images are file sections, for which libipt caches
 * decoded blocks. A new image is made only when a section appears or disappears. Bytes of code events, which may change
 * with every segment, are read through libipt's callback.
 */
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "flow/libipt/engine.h"

/*
 * Bytes of sections that libipt keeps mapped, with their block caches: four bytes of address space for each byte of
 * code, used where code runs. Without a section cache, libipt maps and forgets a section at each change of section.
 */
#define SECTION_CACHE_SIZE ((uint64_t)1 << 30)

/*
 * Finds the bytes of the version at ip. libipt reads one instruction at a time, mostly from the same piece as before.
 */
static bool find_bytes(struct libipt_engine *engine, uint64_t ip, size_t size)
{
	struct format_piece *piece = &engine->piece;
	uint64_t have;

	if (!engine->piece_bytes || ip < piece->first || ip > piece->last) {
		engine->piece_bytes = NULL;
		if (flow_version_find(flow_code_timeline(engine->code), engine->version.root, ip, piece))
			engine->piece_bytes = flow_code_blob(engine->code, piece->blob, &have);
		if (!engine->piece_bytes || have < piece->offset || have - piece->offset <= piece->last - piece->first)
			engine->piece_bytes = NULL;
	}
	return engine->piece_bytes && size - 1 <= piece->last - ip;
}

static int read_memory(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip, void *context)
{
	struct libipt_engine *engine = context;
	size_t have = size;

	(void)asid;
	if (size && find_bytes(engine, ip, size))
		memcpy(buffer, engine->piece_bytes + engine->piece.offset + (ip - engine->piece.first), size);
	else
		have = flow_code_read(engine->code, engine->version.root, ip, buffer, size);
	return have ? (int)have : -pte_nomap;
}

int libipt_code_open(struct libipt_engine *engine)
{
	engine->sections = pt_iscache_alloc(NULL);
	if (!engine->sections)
		return common_fail_memory("libipt section cache", 0);
	pt_iscache_set_limit(engine->sections, SECTION_CACHE_SIZE);
	return 0;
}

void libipt_code_close(struct libipt_engine *engine)
{
	pt_image_free(engine->image);
	if (engine->sections)
		pt_iscache_free(engine->sections);
	common_byte_map_free(&engine->section_ids);
}

/* Finds libipt's section number of a piece. *id is 0 if the piece has no section; then the callback reads the piece. */
static int section_id(struct libipt_engine *engine, const struct format_piece *piece, int *id)
{
	uint64_t size = piece->last - piece->first + 1, offset, *known;
	const char *path;
	uint8_t key[28];
	int status;

	common_store64(key, piece->first);
	common_store64(key + 8, piece->last);
	common_store64(key + 16, piece->offset);
	common_store32(key + 24, piece->blob);
	known = common_byte_map_get(&engine->section_ids, key, sizeof(key));
	if (known) {
		*id = (int)*known;
		return 0;
	}
	*id = 0;
	if (flow_code_file(engine->code, piece->blob, &path, &offset)) {
		status = pt_iscache_add_file(engine->sections, path, offset + piece->offset, size, piece->first);
		if (status == -pte_nomem)
			return common_fail_memory("libipt section", 0);
		if (status > 0)
			*id = status;
	}
	return common_byte_map_put(&engine->section_ids, key, sizeof(key), (uint64_t)*id);
}

static int add_sections(struct libipt_engine *engine, struct pt_image *image, flow_root files)
{
	const struct flow_timeline *timeline = flow_code_timeline(engine->code);
	struct format_piece piece;
	uint64_t at = 0;

	while (flow_version_next(timeline, files, at, &piece)) {
		int id, status = section_id(engine, &piece, &id);

		if (status < 0)
			return status;
		if (id && pt_image_add_cached(image, engine->sections, id, NULL) == -pte_nomem)
			return common_fail_memory("libipt image", 0);
		if (piece.last == UINT64_MAX)
			break;
		at = piece.last + 1;
	}
	return 0;
}

static int make_image(struct libipt_engine *engine, flow_root files)
{
	struct pt_image *image = pt_image_alloc(NULL);
	int status;

	if (!image)
		return common_fail_memory("libipt image", 0);
	status = add_sections(engine, image, files);
	if (status < 0) {
		pt_image_free(image);
		return status;
	}
	pt_image_set_callback(image, read_memory, engine);
	/* The decoder must release the old image before the image is freed. */
	if (engine->decoder)
		engine->class->set_image(engine->decoder, image);
	pt_image_free(engine->image);
	engine->image = image;
	engine->files = files;
	engine->has_image = true;
	return 0;
}

/* Finds the addresses of the filters' ranges: the files of the filters are mapped at these addresses. */
static void select_filters(struct libipt_engine *engine)
{
	struct flow_filter_range filters[FLOW_FILTER_RANGES] = {0};
	const size_t found = flow_filter_ranges(flow_code_filter(engine->code), engine->machine->index,
						engine->version.root, filters);
	const unsigned count = found < FLOW_FILTER_RANGES ? (unsigned)found : FLOW_FILTER_RANGES;

	if (count == engine->filter_count && !memcmp(filters, engine->filters, count * sizeof(filters[0])))
		return;
	memcpy(engine->filters, filters, sizeof(filters));
	engine->filter_count = count;
	engine->filters_changed = true;
}

int libipt_code_select(struct libipt_engine *engine, uint64_t time)
{
	struct flow_version *version = &engine->version;
	int status;

	engine->piece_bytes = NULL;
	flow_timeline_version(flow_code_timeline(engine->code), engine->process, time, version);
	if (engine->filtered)
		select_filters(engine);
	status = flow_builder_version(&engine->builder, version->root);
	if (status < 0 || (engine->has_image && engine->files == version->files))
		return status;
	return make_image(engine, version->files);
}
