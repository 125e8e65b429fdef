/* SPDX-License-Identifier: BSD-2-Clause */
/* Remembers what runs have of transfers, up to some memory. */
#include "dump/call/transfer_run.h"

#include <stdlib.h>
#include <string.h>

#include "common/vector.h"

#define RUNS_MAX ((size_t)1 << 19)
#define LIST_MAX ((size_t)1 << 19)

_Static_assert(LIST_MAX < 1 << 20, "numbers of the list fit a run");

/* Tags of runs that were forgotten are not given to others: beyond this there are no more. */
#define TAGS_MAX (UINT32_MAX - RUNS_MAX)

void dump_transfer_runs_free(struct dump_transfer_runs *runs)
{
	free(runs->runs);
	free(runs->list);
	dump_transfers_free(&runs->draft);
	free(runs->places);
	common_byte_map_free(&runs->homes);
	*runs = (struct dump_transfer_runs){0};
}

static void forget_all(struct dump_transfer_runs *runs)
{
	runs->base = (runs->base ? runs->base : DUMP_TRANSFER_RUN_MET) + (uint32_t)runs->count;
	runs->count = 0;
	runs->list_count = 0;
}

void dump_transfer_runs_begin(struct dump_transfer_runs *runs, uint32_t process)
{
	if (!runs->base || runs->process != process)
		forget_all(runs);
	runs->process = process;
}

int dump_transfer_runs_home(struct dump_transfer_runs *runs, const struct dump_code_place *place, uint32_t *home)
{
	const uint64_t key[] = {place->first, place->image};
	const uint64_t *known = common_byte_map_get(&runs->homes, key, sizeof(key));
	int status;

	if (known) {
		*home = (uint32_t)*known;
		return 0;
	}
	status = COMMON_VECTOR_RESERVE(runs->places, runs->place_capacity, runs->place_count + 1, "functions");
	if (status < 0)
		return status;
	runs->places[runs->place_count++] = *place;
	*home = (uint32_t)runs->place_count;
	return common_byte_map_put(&runs->homes, key, sizeof(key), *home);
}

static int add_list(struct dump_transfer_runs *runs)
{
	const struct dump_transfers *draft = &runs->draft;
	const int status = COMMON_VECTOR_RESERVE(runs->list, runs->list_capacity, runs->list_count + draft->count + 1,
						 "calls within runs");

	if (status < 0)
		return status;
	if (draft->count)
		memcpy(runs->list + runs->list_count, draft->list, draft->count * sizeof(*draft->list));
	runs->list_count += draft->count;
	return 0;
}

int dump_transfer_runs_add(struct dump_transfer_runs *runs, const struct dump_transfer_run *run, bool lands,
			   uint32_t *tag)
{
	struct dump_transfer_run *added;
	size_t first;
	int status;

	if (runs->count == RUNS_MAX || runs->list_count + runs->draft.count > LIST_MAX)
		forget_all(runs);
	first = runs->list_count + 1;
	if (runs->base > TAGS_MAX || runs->draft.count > DUMP_TRANSFER_RUN_COUNT)
		return 0;
	status = COMMON_VECTOR_RESERVE(runs->runs, runs->capacity, runs->count + 1, "calls within runs");
	if (status == 0)
		status = add_list(runs);
	if (status < 0)
		return status;
	added = &runs->runs[runs->count];
	*added = *run;
	added->list = lands ? (uint32_t)first & 0xfffff : 0;
	added->count = runs->draft.count & DUMP_TRANSFER_RUN_COUNT;
	*tag = runs->base + (uint32_t)++runs->count;
	return 0;
}
