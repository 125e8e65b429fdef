/* SPDX-License-Identifier: BSD-2-Clause */
#include "dump/export/path_trail.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/vector.h"

int dump_path_trail_open(struct dump_path_trail *trail, const struct analysis_path_tree *tree)
{
	*trail = (struct dump_path_trail){.tree = tree};
	trail->depths = calloc(tree->count + 1, sizeof(*trail->depths));
	if (!trail->depths)
		return common_fail_memory("paths of calls", tree->count * sizeof(*trail->depths));
	for (size_t i = 1; i < tree->count; i++)
		if (tree->nodes[i].parent)
			trail->depths[i] = trail->depths[tree->nodes[i].parent] + 1;
	return 0;
}

void dump_path_trail_close(struct dump_path_trail *trail)
{
	free(trail->depths);
	free(trail->steps);
	*trail = (struct dump_path_trail){0};
}

static bool has_step(const struct dump_path_trail *trail, uint32_t node)
{
	const uint32_t depth = trail->depths[node];

	return depth < trail->count && trail->steps[depth].node == node;
}

int dump_path_trail_enter(struct dump_path_trail *trail, uint32_t at, size_t *kept)
{
	const size_t count = trail->depths[at] + (size_t)1;
	const int status = COMMON_VECTOR_RESERVE(trail->steps, trail->capacity, count, "paths of calls");

	if (status < 0)
		return status;
	for (; at && !has_step(trail, at); at = trail->tree->nodes[at].parent)
		trail->steps[trail->depths[at]] = (struct dump_path_step){.node = at};
	*kept = at ? trail->depths[at] + (size_t)1 : 0;
	trail->count = count;
	return 0;
}
