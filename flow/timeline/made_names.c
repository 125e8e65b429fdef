/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns and finds the names of generated code. */
#include "flow/timeline/made_names.h"

#include <stdlib.h>

static void free_names(struct flow_made_names *names)
{
	for (size_t i = 0; names->layers && i < names->layer_count; i++) {
		free(names->layers[i].symbols);
		free(names->layers[i].lines);
	}
	free(names->layers);
}

void flow_made_free(struct flow_made_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		free_names(&set->list[i]);
	free_names(&set->any);
	free(set->list);
	free(set->changes);
	common_hash_map_free(&set->by_pid);
	if (set->owner)
		set->free_owner(set->owner);
	*set = (struct flow_made_set){0};
}

void flow_made_move(struct flow_made_set *from, struct flow_made_set *to)
{
	*to = *from;
	*from = (struct flow_made_set){0};
	to->next = 0;
	for (size_t i = 0; i < to->count; i++)
		to->list[i].now = 0;
}

const struct flow_made_layer *flow_made_find(const struct flow_made_set *set, uint32_t pid, uint32_t layer)
{
	const uint64_t *index = common_hash_map_get(&set->by_pid, pid);
	const struct flow_made_names *names = index ? &set->list[*index] : &set->any;

	return layer < names->layer_count ? &names->layers[layer] : NULL;
}
