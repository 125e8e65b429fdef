/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Anonymous memory: when the memory appeared, and which code was captured there. Images of rules may take the memory
 * later.
 */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"
#include "relog/rules/images.h"

#define CODES_MAX 65536u /* limit for one range of memory; more code comes from a JIT, which is not worth remembering */

static void free_backing(struct rules_backing *backing)
{
	free(backing->codes);
	free(backing);
}

int rules_backing_add(struct rules_space *space, const struct ptl_image_event *data, uint64_t time)
{
	struct rules_backing *backing;

	rules_backing_remove(space, data->base, data->base + (data->size - 1));
	backing = calloc(1, sizeof(*backing));
	if (!backing)
		return common_fail_memory("memory of a process", sizeof(*backing));
	backing->first = data->base;
	backing->last = data->base + (data->size - 1);
	backing->time = time;
	backing->data = *data;
	backing->data.file_name = "//anon";
	backing->next = space->backing;
	space->backing = backing;
	return 0;
}

/* If the middle of a range is removed, only its beginning is kept: nothing asks for the end. */
void rules_backing_remove(struct rules_space *space, uint64_t first, uint64_t last)
{
	struct rules_backing **place = &space->backing;

	while (*place) {
		struct rules_backing *backing = *place;

		if (backing->first > last || backing->last < first) {
			place = &backing->next;
		} else if (backing->first < first) {
			backing->last = first - 1;
			place = &backing->next;
		} else if (backing->last > last) {
			backing->first = last + 1;
			place = &backing->next;
		} else {
			*place = backing->next;
			free_backing(backing);
		}
	}
}

static int add_code(struct rules_backing *backing, const struct rules_backed_code *code)
{
	if (backing->code_count == CODES_MAX) {
		backing->too_much = true;
		return 0;
	}
	if (!common_vector_room(&backing->codes, backing->code_count, sizeof(*backing->codes)))
		return common_fail_memory("captured code", (backing->code_count + 1) * sizeof(*backing->codes));
	backing->codes[backing->code_count++] = *code;
	return 0;
}

int rules_backing_code(struct rules_space *space, const struct ptl_code_event *code, uint64_t time)
{
	struct rules_backed_code copy = {.time = time, .base = code->base, .size = code->size};
	uint64_t last = code->base + (code->size - 1);
	int status = 0;

	memcpy(copy.hash, code->code, PTL_HASH_SIZE);
	for (struct rules_backing *backing = space->backing; !status && backing && code->size; backing = backing->next)
		if (code->base <= backing->last && last >= backing->first && last >= code->base)
			status = add_code(backing, &copy);
	return status;
}
