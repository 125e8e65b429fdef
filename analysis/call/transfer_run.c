/* SPDX-License-Identifier: BSD-2-Clause */
/* Stores the transfers of runs, up to a memory limit. */
#include "analysis/call/transfer_run.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/vector.h"

#define RUNS_MAX ((size_t)1 << 19)
#define LIST_MAX ((size_t)1 << 19)

_Static_assert(LIST_MAX < 1 << 20, "numbers of the list fit a run");

/* Tags of forgotten runs are not reused: beyond this limit, runs get no tags. */
#define TAGS_MAX (UINT32_MAX - RUNS_MAX)

void analysis_transfer_runs_free(struct analysis_transfer_runs *runs)
{
	free(runs->runs);
	free(runs->list);
	free(runs->sites);
	common_number_table_free(&runs->site_numbers);
	analysis_transfers_free(&runs->draft);
	free(runs->places);
	common_byte_map_free(&runs->homes);
	*runs = (struct analysis_transfer_runs){0};
}

static void forget_all(struct analysis_transfer_runs *runs)
{
	runs->base = (runs->base ? runs->base : ANALYSIS_TRANSFER_RUN_MET) + (uint32_t)runs->count;
	runs->count = 0;
	runs->list_count = 0;
	runs->site_count = 0;
	common_number_table_clear(&runs->site_numbers);
}

void analysis_transfer_runs_begin(struct analysis_transfer_runs *runs, uint32_t process)
{
	if (!runs->base || runs->process != process)
		forget_all(runs);
	runs->process = process;
}

int analysis_transfer_runs_home(struct analysis_transfer_runs *runs, const struct analysis_code_place *place,
				uint32_t *home_number)
{
	const uint64_t key[] = {place->first, place->image};
	const uint64_t *known = common_byte_map_get(&runs->homes, key, sizeof(key));
	int status;

	if (known) {
		*home_number = (uint32_t)*known;
		return 0;
	}
	status = COMMON_VECTOR_RESERVE(runs->places, runs->place_capacity, runs->place_count + 1, "functions");
	if (status < 0)
		return status;
	runs->places[runs->place_count++] = *place;
	*home_number = (uint32_t)runs->place_count;
	return common_byte_map_put(&runs->homes, key, sizeof(key), *home_number);
}

/* Finds or assigns the number of the transfer's call site; 0 for other transfers. Returns 0 or PTL_NO_MEMORY. */
static int find_site(struct analysis_transfer_runs *runs, const struct analysis_transfer *transfer, uint32_t *number)
{
	const struct analysis_call_site site = {transfer->address, transfer->to, transfer->function,
						transfer->function_flags, transfer->flags};
	int status;

	*number = 0;
	if (transfer->kind != ANALYSIS_TRANSFER_CALL && transfer->kind != ANALYSIS_TRANSFER_LEAF)
		return 0;
	runs->site_count += !runs->site_count;
	status = COMMON_VECTOR_RESERVE(runs->sites, runs->site_capacity, runs->site_count + 1, "calls within runs");
	if (status < 0)
		return status;
	*number = common_number_of(&runs->site_numbers,
				   (struct common_numbered){runs->sites, sizeof(site), sizeof(site) / sizeof(uint64_t)},
				   runs->site_count, &site);
	if (*number == runs->site_count)
		runs->sites[runs->site_count++] = site;
	return *number ? 0 : common_fail_memory("calls within runs", runs->site_count * sizeof(site));
}

static int add_list(struct analysis_transfer_runs *runs)
{
	const struct analysis_transfers *draft = &runs->draft;
	int status = COMMON_VECTOR_RESERVE(runs->list, runs->list_capacity, runs->list_count + draft->count + 1,
					   "calls within runs");

	if (status < 0)
		return status;
	for (size_t i = 0; status == 0 && i < draft->count; i++) {
		struct analysis_transfer *transfer = &runs->list[runs->list_count + i];

		*transfer = draft->list[i];
		status = find_site(runs, transfer, &transfer->site);
	}
	runs->list_count += status == 0 ? draft->count : 0;
	return status;
}

int analysis_transfer_runs_add(struct analysis_transfer_runs *runs, const struct analysis_transfer_run *run, bool lands,
			       uint32_t *tag)
{
	struct analysis_transfer_run *added;
	size_t first;
	int status;

	if (runs->count == RUNS_MAX || runs->list_count + runs->draft.count > LIST_MAX)
		forget_all(runs);
	first = runs->list_count + 1;
	if (runs->base > TAGS_MAX || runs->draft.count > ANALYSIS_TRANSFER_RUN_COUNT)
		return 0;
	status = COMMON_VECTOR_RESERVE(runs->runs, runs->capacity, runs->count + 1, "calls within runs");
	if (status == 0)
		status = add_list(runs);
	if (status < 0)
		return status;
	added = &runs->runs[runs->count];
	*added = *run;
	added->list = lands ? (uint32_t)first & 0xfffff : 0;
	added->count = runs->draft.count & ANALYSIS_TRANSFER_RUN_COUNT;
	*tag = runs->base + (uint32_t)++runs->count;
	return 0;
}
