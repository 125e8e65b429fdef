/* SPDX-License-Identifier: BSD-2-Clause */
/* Redacts code. The ELF file of the code tells which bytes are data. */
#include "relog/redact/code.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "elf/file.h"
#include "common/vector.h"
#include "format/event/kernel_class.h"

struct relog_code_origin {
	struct ptl_trace *trace; /* trace that contains the file */
	uint8_t file[PTL_HASH_SIZE];
	uint64_t offset;
};

/* ---- origins of code, from images ------------------------------------------------------------ */

void relog_code_origins_free(struct relog_code_origins *origins)
{
	common_byte_map_free(&origins->map);
	common_memory_budget_close(&origins->memory_budget);
	common_bytes_free(&origins->storage);
	free(origins->list);
	*origins = (struct relog_code_origins){.list = NULL};
}

static int add_origin(struct relog_code_origins *origins, struct ptl_trace *trace, const struct ptl_image_event *image)
{
	/* Slots and keys of the map take about twice the size of a key. */
	const size_t bytes = sizeof(*origins->list) + (size_t)4 * PTL_HASH_SIZE;
	int status = common_memory_budget_take(&origins->memory_budget, bytes, "images with code", origins->count + 1);

	if (status)
		return status;
	if (!common_vector_room(&origins->list, origins->count, sizeof(*origins->list)))
		return common_fail_memory("images", origins->count * sizeof(*origins->list));
	origins->list[origins->count] = (struct relog_code_origin){.trace = trace, .offset = image->file_offset};
	memcpy(origins->list[origins->count].file, image->debug, PTL_HASH_SIZE);
	return common_byte_map_put(&origins->map, image->code, PTL_HASH_SIZE, origins->count++);
}

int relog_code_origins_learn(struct relog_code_origins *origins, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct ptl_image_event image;
	int status;

	if (format_class_of(&event->descriptor) != FORMAT_CLASS_IMAGE)
		return 0;
	status = ptl_image_decode(event, &origins->storage, &image);
	if (status)
		return status == PTL_NO_MEMORY ? status : 0;
	if (!image.has_code || !image.has_debug || common_byte_map_get(&origins->map, image.code, PTL_HASH_SIZE) ||
	    !ptl_blob_find(trace, image.debug))
		return 0;
	return add_origin(origins, trace, &image);
}

/* ---- ranges of data -------------------------------------------------------------------------- */

/* Reads the ranges of data in the file. Finds no ranges if the code is not at the image's offset in the file. */
static int read_ranges(const uint8_t *file, size_t file_size, const struct relog_code_origin *origin,
		       const uint8_t *code, size_t size, struct elf_range **ranges, size_t *count)
{
	struct elf_file *elf;
	int status;

	if (origin->offset > file_size || size > file_size - origin->offset ||
	    memcmp(file + origin->offset, code, size) != 0)
		return 0;
	status = elf_open_memory(file, file_size, &elf);
	if (status)
		return status == PTL_NO_MEMORY ? status : 0;
	status = elf_read_only(elf, ranges, count);
	elf_close(elf);
	return status;
}

static int find_ranges(const struct relog_code_origin *origin, const uint8_t *code, size_t size, size_t limit,
		       struct elf_range **ranges, size_t *count)
{
	const struct ptl_blob_info *blob = ptl_blob_find(origin->trace, origin->file);
	uint8_t *file;
	size_t file_size;
	int status;

	if (!blob || blob->size > limit)
		return 0;
	status = ptl_blob_read(origin->trace, origin->file, limit, &file, &file_size);
	if (status) /* damage: treat as no ranges */
		return status == PTL_NO_MEMORY || status == PTL_SYSTEM ? status : 0;
	status = read_ranges(file, file_size, origin, code, size, ranges, count);
	free(file);
	return status;
}

/* ---- code ------------------------------------------------------------------------------------ */

/*
 * Redacts the ranges of data in the code. Bytes between the ranges may be instructions, and are only searched. offset:
 * offset of the code in the file.
 */
static int redact_ranges(struct relog_redactor *redactor, const struct elf_range *ranges, size_t count, uint64_t offset,
			 uint8_t *code, size_t size, bool *changed, bool *left)
{
	size_t at = 0;
	int status = 0;

	for (size_t i = 0; i < count && !status; i++) {
		const uint64_t end = ranges[i].offset + ranges[i].size;
		const size_t from = ranges[i].offset > offset ? (size_t)(ranges[i].offset - offset) : 0;
		const size_t to = end > offset ? (end - offset < size ? (size_t)(end - offset) : size) : 0;

		if (from >= to || from < at)
			continue;
		status = relog_redact_find(redactor, code + at, from - at, left);
		if (!status)
			status = relog_redact_raw(redactor, code + from, to - from, changed);
		at = to;
	}
	return status ? status : relog_redact_find(redactor, code + at, size - at, left);
}

int relog_redact_code(struct relog_redactor *redactor, const struct relog_code_origins *origins,
		      const uint8_t hash[PTL_HASH_SIZE], uint8_t *code, size_t size, size_t limit, bool *changed,
		      bool *left)
{
	const uint64_t *index = common_byte_map_get(&origins->map, hash, PTL_HASH_SIZE);
	/* Code may itself be an ELF file, such as the vdso. */
	const struct relog_code_origin whole = {.offset = 0}, *origin = index ? &origins->list[*index] : &whole;
	struct elf_range *ranges = NULL;
	size_t count = 0;
	int status = index ? find_ranges(origin, code, size, limit, &ranges, &count)
			   : read_ranges(code, size, origin, code, size, &ranges, &count);

	if (!status)
		status = redact_ranges(redactor, ranges, count, origin->offset, code, size, changed, left);
	free(ranges);
	return status;
}
