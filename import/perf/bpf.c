/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the feature BPF_PROG_INFO. */
#include "import/perf/bpf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/vector.h"

#define FUNCTIONS_MAX (1u << 20)
#define NAME_START "bpf_prog_"
#define KEY_SIZE (8 + PERF_BPF_TAG_SIZE)

/* Offsets in struct bpf_prog_info of linux/bpf.h. perf replaces the pointers by offsets in the data behind it. */
enum info_offset {
	INFO_TAG = 8,
	INFO_CODE_SIZE = 16,
	INFO_CODE = 24,
	INFO_ADDRESS_COUNT = 104,
	INFO_SIZE_COUNT = 108,
	INFO_ADDRESSES = 112, /* u64 each */
	INFO_SIZES = 120,     /* u32 each */
	INFO_TAG_COUNT = 180,
	INFO_TAGS = 184, /* PERF_BPF_TAG_SIZE bytes each */
};

/* Descriptions of older kernels end earlier; missing fields are 0. */
struct program {
	const uint8_t *info, *data;
	size_t info_size, data_size;
};

static uint64_t read_info(const struct program *program, enum info_offset at, size_t bytes)
{
	return program->info_size >= at + bytes ? common_load_le(program->info + at, bytes) : 0;
}

/* Returns the array of `count` elements at the offset that a field has; NULL if the data does not contain the array. */
static const uint8_t *find_array(const struct program *program, enum info_offset at, uint64_t count, size_t element)
{
	const uint64_t offset = read_info(program, at, 8);

	return count && offset <= program->data_size && count <= (program->data_size - offset) / element
		       ? program->data + offset
		       : NULL;
}

/* Makes the key of a function: base, and tag. */
static void make_key(uint64_t base, const uint8_t tag[PERF_BPF_TAG_SIZE], uint8_t key[KEY_SIZE])
{
	common_store64(key, base);
	memcpy(key + 8, tag, PERF_BPF_TAG_SIZE);
}

/* Adds a function, in room that was reserved. */
static int add_function(struct perf_bpf *bpf, const struct perf_bpf_function *function)
{
	uint8_t key[KEY_SIZE];

	make_key(function->base, function->tag, key);
	bpf->list[bpf->count] = *function;
	return common_byte_map_put(&bpf->keys, key, sizeof(key), bpf->count++);
}

/* Adds the functions of a program. The code of a function follows the code of its predecessor. */
static int add_program(struct perf_bpf *bpf, const struct program *program)
{
	const uint64_t count = read_info(program, INFO_ADDRESS_COUNT, 4);
	const uint64_t tag_count = read_info(program, INFO_TAG_COUNT, 4);
	const uint64_t code_size = read_info(program, INFO_CODE_SIZE, 4);
	const uint8_t *addresses = find_array(program, INFO_ADDRESSES, count, 8);
	const uint8_t *sizes = find_array(program, INFO_SIZES, read_info(program, INFO_SIZE_COUNT, 4), 4);
	const uint8_t *code = find_array(program, INFO_CODE, code_size, 1);
	const uint8_t *tags = find_array(program, INFO_TAGS, tag_count, PERF_BPF_TAG_SIZE);
	uint64_t used = 0;
	int status = 0;

	/* A program without machine code is interpreted, or its loader may not see the code. */
	if (!code || !count)
		return 0;
	if (!addresses || !sizes || read_info(program, INFO_SIZE_COUNT, 4) != count ||
	    count > FUNCTIONS_MAX - bpf->count) {
		bpf->damaged++;
		return 0;
	}
	if (COMMON_VECTOR_RESERVE(bpf->list, bpf->capacity, bpf->count + count, "BPF programs"))
		return PTL_NO_MEMORY;
	for (uint64_t i = 0; !status && i < count; i++) {
		struct perf_bpf_function function = {.base = common_load64(addresses + 8 * i),
						     .size = common_load32(sizes + 4 * i),
						     .code = code + used};

		if (function.size > code_size - used) {
			bpf->damaged++;
			return 0;
		}
		memcpy(function.tag, i < tag_count && tags ? tags + PERF_BPF_TAG_SIZE * i : program->info + INFO_TAG,
		       PERF_BPF_TAG_SIZE);
		used += function.size;
		status = add_function(bpf, &function);
	}
	return status;
}

/* Copies the bytes of a feature. */
static int keep_feature(struct perf_bpf *bpf, const uint8_t *data, size_t size)
{
	uint8_t *copy;

	if (!common_vector_room(&bpf->data, bpf->data_count, sizeof(*bpf->data)))
		return common_fail_memory("BPF programs", (bpf->data_count + 1) * sizeof(*bpf->data));
	copy = malloc(size + 1);
	if (!copy)
		return common_fail_memory("BPF programs", size);
	if (size)
		memcpy(copy, data, size);
	bpf->data[bpf->data_count++] = copy;
	return 0;
}

/* Parses: u32 count; for each program: u32 size of the description, u32 size of the data, u64 set of arrays, both. */
int perf_bpf_read(struct perf_bpf *bpf, const uint8_t *data, size_t size)
{
	struct common_cursor cursor;
	uint32_t count;
	int status;

	status = keep_feature(bpf, data, size);
	if (status)
		return status;
	cursor = common_cursor(bpf->data[bpf->data_count - 1], size);
	count = common_read32(&cursor);
	for (uint32_t i = 0; !status && i < count && !cursor.failed; i++) {
		struct program program;

		program.info_size = common_read32(&cursor);
		program.data_size = common_read32(&cursor);
		common_read64(&cursor);
		program.info = common_read_bytes(&cursor, program.info_size);
		program.data = common_read_bytes(&cursor, program.data_size);
		if (cursor.failed || program.info_size < INFO_CODE + 8) {
			bpf->damaged += cursor.failed ? count - i : 1;
			continue;
		}
		status = add_program(bpf, &program);
	}
	return status;
}

/* Reads the tag of a name such as "bpf_prog_6deef7357e7b4530_name". */
static bool read_tag(const char *name, uint8_t tag[PERF_BPF_TAG_SIZE])
{
	const char *digits = name + strlen(NAME_START);

	if (strncmp(name, NAME_START, strlen(NAME_START)) != 0)
		return false;
	for (size_t i = 0; i < PERF_BPF_TAG_SIZE; i++)
		if (sscanf(digits + 2 * i, "%2hhx", &tag[i]) != 1)
			return false;
	return true;
}

const struct perf_bpf_function *perf_bpf_find(const struct perf_bpf *bpf, uint64_t base, const char *name)
{
	uint8_t tag[PERF_BPF_TAG_SIZE], key[KEY_SIZE];
	const uint64_t *index;

	if (!read_tag(name, tag))
		return NULL;
	make_key(base, tag, key);
	index = common_byte_map_get(&bpf->keys, key, sizeof(key));
	return index ? &bpf->list[*index] : NULL;
}

void perf_bpf_free(struct perf_bpf *bpf)
{
	for (size_t i = 0; i < bpf->data_count; i++)
		free(bpf->data[i]);
	free(bpf->data);
	free(bpf->list);
	common_byte_map_free(&bpf->keys);
	*bpf = (struct perf_bpf){0};
}
