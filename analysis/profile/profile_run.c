/* SPDX-License-Identifier: BSD-2-Clause */
/* Records the blocks of a run, so that the run's count can be added to the blocks after the run is freed. */
#include "analysis/profile/profile_run.h"

#include <stdlib.h>

#include "common/error.h"

#define USED_MAX (ANALYSIS_PROFILE_RUNS / 4 * 3)
#define LIST_MAX ((size_t)1 << 20)
#define LONG (1u << 16) /* number of blocks in a long run */

void analysis_profile_runs_free(struct analysis_profile_runs *runs)
{
	free(runs->places);
	free(runs->used);
	free(runs->list);
	*runs = (struct analysis_profile_runs){0};
}

static int make_places(struct analysis_profile_runs *runs)
{
	runs->places = calloc(ANALYSIS_PROFILE_RUNS, sizeof(*runs->places));
	runs->used = malloc(USED_MAX * sizeof(*runs->used));
	runs->list = malloc(LIST_MAX * sizeof(*runs->list));
	if (runs->places && runs->used && runs->list)
		return 0;
	analysis_profile_runs_free(runs);
	return common_fail_memory("counts of runs", ANALYSIS_PROFILE_RUNS * sizeof(*runs->places));
}

static int flush_run(struct analysis_profile_table *table, const struct analysis_profile_run *run, const uint32_t *list,
		     bool edges)
{
	int status = 0;

	for (uint32_t i = 0; i < run->blocks; i++)
		table->entries[list[i]].count += run->count;
	for (uint32_t i = 0; !status && i + 1 < run->blocks; i++) {
		struct analysis_profile_entry *entry = &table->entries[list[i]];
		const uint64_t next_ip = entry->id.ip + entry->id.size;

		if (entry->branch == FLOW_BRANCH_CONDITIONAL) {
			const bool taken = table->entries[list[i + 1]].id.ip != next_ip;

			entry->taken += taken ? run->count : 0;
			entry->not_taken += taken ? 0 : run->count;
		} else if (edges && analysis_profile_is_edge(entry->branch)) {
			status = analysis_profile_edge(table, list[i], list[i + 1], run->count);
		}
	}
	table->entries[run->last].taken += run->taken;
	table->entries[run->last].not_taken += run->not_taken;
	return status;
}

int analysis_profile_runs_flush(struct analysis_profile_runs *runs, struct analysis_profile_table *table, bool edges)
{
	int status = runs->places ? 0 : make_places(runs);

	for (size_t i = 0; !status && i < runs->used_count; i++) {
		struct analysis_profile_run *run = &runs->places[runs->used[i]];

		status = flush_run(table, run, runs->list + run->first, edges);
		run->run = NULL;
	}
	runs->used_count = 0;
	runs->list_count = 0;
	return status;
}

bool analysis_profile_runs_full(const struct analysis_profile_runs *runs, const struct flow_block_run *run)
{
	return runs->used_count == USED_MAX || runs->list_count + run->count > LIST_MAX;
}

bool analysis_profile_run_is_long(const struct flow_block_run *run)
{
	return run->count > LONG;
}

int analysis_profile_runs_add(struct analysis_profile_runs *runs, struct analysis_profile_table *table,
			      const struct flow_block_run *run, struct analysis_profile_run *place)
{
	const struct flow_block *last = run->blocks[run->count - 1];
	struct analysis_profile_run made = {
		.run = run,
		.first_ip = run->blocks[0]->ip,
		.next_ip = last->ip + last->size,
		.first = (uint32_t)runs->list_count,
		.blocks = run->count,
		.branch = last->branch,
	};
	int status = 0;

	for (uint32_t i = 0; !status && i < run->count; i++)
		status = analysis_profile_find(table, run->blocks[i], &runs->list[runs->list_count + i]);
	if (status)
		return status;
	runs->list_count += run->count;
	made.last = runs->list[runs->list_count - 1];
	runs->used[runs->used_count++] = (uint32_t)(place - runs->places);
	*place = made;
	return 0;
}
