/* SPDX-License-Identifier: BSD-2-Clause */
/* Matches threads, finds the first chunk with different hashes, and decodes the chunk again to find the exact place. */
#include "analysis/difference/diff_first.h"

#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/vector.h"

struct matching {
	const struct analysis_diff_run *runs[2];
	struct analysis_diff_first *first;
};

const char *analysis_diff_process_name(const struct analysis_diff_run *run, const struct analysis_diff_thread *thread)
{
	return flow_timeline_process_name(run->timeline, thread->process, 0);
}

const char *analysis_diff_thread_name(const struct analysis_diff_run *run, const struct analysis_diff_thread *thread)
{
	return thread->thread == FLOW_NONE ? "" : flow_timeline_thread(run->timeline, thread->thread)->name;
}

/* ---- pairs --------------------------------------------------------------------------------------- */

static bool same_process(const struct analysis_diff_thread *a, const struct analysis_diff_thread *b)
{
	return a->process == b->process && a->pid == b->pid;
}

/* Counts occurrences of the key. *order: occurrences before this call. */
static int count_key(struct common_byte_map *map, const struct ptl_bytes *key, uint64_t *order)
{
	uint64_t *known = key->failed ? NULL : common_byte_map_get(map, key->data, key->size);

	*order = known ? *known : 0;
	if (known)
		++*known;
	else if (key->failed || common_byte_map_put(map, key->data, key->size, 1) < 0)
		return common_fail_memory("threads", key->size);
	return 0;
}

static void add_key_name(struct ptl_bytes *key, const char *name)
{
	common_write_bytes(key, name, strlen(name) + 1);
}

/* The matching key of a thread. */
struct place {
	uint64_t process_order, thread_order;
	struct ptl_bytes key; /* process name, process order, thread name, thread order */
};

/* Finds names and orders of one side. Threads are grouped by process. */
static int find_places(const struct matching *matching, unsigned side, struct place *places)
{
	const struct analysis_diff_path *path = &matching->first->paths[side];
	struct common_byte_map processes = {0}, threads = {0};
	struct ptl_bytes key = {0};
	int status = 0;

	for (size_t i = 0; !status && i < path->count; i++) {
		const struct analysis_diff_thread *thread = &path->threads[i];
		const char *process = analysis_diff_process_name(matching->runs[side], thread);

		key.size = 0;
		add_key_name(&key, process);
		if (i && same_process(thread, &path->threads[i - 1]))
			places[i].process_order = places[i - 1].process_order;
		else
			status = count_key(&processes, &key, &places[i].process_order);
		common_write_le(&key, places[i].process_order, 8);
		add_key_name(&key, analysis_diff_thread_name(matching->runs[side], thread));
		if (!status)
			status = count_key(&threads, &key, &places[i].thread_order);
		common_write_le(&key, places[i].thread_order, 8);
		common_write_bytes(&places[i].key, key.data, key.size);
		if (places[i].key.failed || key.failed)
			status = common_fail_memory("threads", key.size);
	}
	common_byte_map_free(&processes);
	common_byte_map_free(&threads);
	common_bytes_free(&key);
	return status;
}

static void free_places(struct place *places, size_t count)
{
	for (size_t i = 0; places && i < count; i++)
		common_bytes_free(&places[i].key);
	free(places);
}

static int add_pair(struct analysis_diff_first *first, size_t a, size_t b, const struct place *place)
{
	if (!common_vector_room(&first->pairs, first->count, sizeof(*first->pairs)))
		return common_fail_memory("threads", first->count * sizeof(*first->pairs));
	first->pairs[first->count++] = (struct analysis_diff_pair){
		.a = a, .b = b, .process_order = place->process_order, .thread_order = place->thread_order};
	return 0;
}

static int join_places(struct analysis_diff_first *first, const struct place *a, const struct place *b)
{
	const size_t counts[2] = {first->paths[0].count, first->paths[1].count};
	bool *taken = calloc(counts[1] + 1, sizeof(*taken));
	struct common_byte_map known = {0};
	int status = taken ? 0 : common_fail_memory("threads", counts[1]);

	for (size_t k = 0; !status && k < counts[1]; k++)
		status = common_byte_map_put(&known, b[k].key.data, b[k].key.size, k);
	for (size_t i = 0; !status && i < counts[0]; i++) {
		const uint64_t *found = common_byte_map_get(&known, a[i].key.data, a[i].key.size);

		if (found)
			taken[*found] = true;
		status = add_pair(first, i, found ? *found : ANALYSIS_DIFF_NOBODY, &a[i]);
	}
	for (size_t k = 0; !status && k < counts[1]; k++)
		if (!taken[k])
			status = add_pair(first, ANALYSIS_DIFF_NOBODY, k, &b[k]);
	common_byte_map_free(&known);
	free(taken);
	return status;
}

/* ---- threads that do the same ------------------------------------------------------------------- */

/* Larger groups of threads of one name are matched by their order. */
#define GROUP_MAX 512

/* How much two threads differ: 0 for equal paths, then by the counts of units. */
static double unlikeness(const struct analysis_diff_thread *a, const struct analysis_diff_thread *b)
{
	const double whole = (double)a->units + (double)b->units;
	double differing = 0;

	if (a->units == b->units && a->hash_count == b->hash_count &&
	    (!a->hash_count || a->hashes[a->hash_count - 1] == b->hashes[b->hash_count - 1]))
		return -1;
	for (size_t i = 0; i < ANALYSIS_DIFF_SKETCH; i++)
		differing += a->sketch[i] > b->sketch[i] ? (double)(a->sketch[i] - b->sketch[i])
							 : (double)(b->sketch[i] - a->sketch[i]);
	return whole > 0 ? differing / whole : 0;
}

/* A possible pair within a group. */
struct candidate {
	double unlikeness;
	size_t apart; /* distance of the orders */
	size_t a, b;
};

static int compare_candidates(const void *a_, const void *b_)
{
	const struct candidate *a = a_, *b = b_;

	if (a->unlikeness != b->unlikeness)
		return a->unlikeness < b->unlikeness ? -1 : 1;
	if (a->apart != b->apart)
		return a->apart < b->apart ? -1 : 1;
	return a->a != b->a ? (a->a < b->a ? -1 : 1) : a->b < b->b ? -1 : a->b > b->b;
}

/* Pairs the threads of one name in one process: the threads that are most alike first. pairs: indexes in first->pairs. */
static int pair_group(struct analysis_diff_first *first, const size_t *pairs, size_t count)
{
	struct candidate *list = calloc(count * count, sizeof(*list));
	size_t *b_of = calloc(count, sizeof(*b_of));
	bool *taken = calloc(2 * count, sizeof(*taken));
	size_t used = 0;

	if (!list || !b_of || !taken) {
		free(list);
		free(b_of);
		free(taken);
		return common_fail_memory("threads", count * count * sizeof(*list));
	}
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < count; k++) {
			const size_t a = first->pairs[pairs[i]].a, b = first->pairs[pairs[k]].b;

			if (a == ANALYSIS_DIFF_NOBODY || b == ANALYSIS_DIFF_NOBODY)
				continue;
			list[used++] = (struct candidate){
				unlikeness(&first->paths[0].threads[a], &first->paths[1].threads[b]),
				i > k ? i - k : k - i, i, k};
		}
	qsort(list, used, sizeof(*list), compare_candidates);
	for (size_t i = 0; i < count; i++)
		b_of[i] = ANALYSIS_DIFF_NOBODY;
	for (size_t i = 0; i < used; i++) {
		if (taken[list[i].a] || taken[count + list[i].b])
			continue;
		taken[list[i].a] = taken[count + list[i].b] = true;
		b_of[list[i].a] = first->pairs[pairs[list[i].b]].b;
	}
	/* Threads without a partner: those of A keep none, those of B take the rest of the pairs. */
	for (size_t i = 0, rest = 0; i < count; i++) {
		if (b_of[i] != ANALYSIS_DIFF_NOBODY || first->pairs[pairs[i]].a != ANALYSIS_DIFF_NOBODY)
			continue;
		while (rest < count && (taken[count + rest] || first->pairs[pairs[rest]].b == ANALYSIS_DIFF_NOBODY))
			rest++;
		if (rest < count) {
			taken[count + rest] = true;
			b_of[i] = first->pairs[pairs[rest]].b;
		}
	}
	for (size_t i = 0; i < count; i++)
		first->pairs[pairs[i]].b = b_of[i];
	free(list);
	free(b_of);
	free(taken);
	return 0;
}

/* A pair, and the group of its threads. */
struct member {
	size_t group, pair;
};

static int compare_members(const void *a_, const void *b_)
{
	const struct member *a = a_, *b = b_;

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return a->pair < b->pair ? -1 : a->pair > b->pair;
}

/* Numbers the groups: threads of one name in one process. */
static int find_groups(const struct matching *matching, struct member *members)
{
	const struct analysis_diff_first *first = matching->first;
	struct common_byte_map groups = {0};
	struct ptl_bytes key = {0};
	int status = 0;

	for (size_t i = 0; !status && i < first->count; i++) {
		const struct analysis_diff_pair *pair = &first->pairs[i];
		const unsigned side = pair->a == ANALYSIS_DIFF_NOBODY;
		const struct analysis_diff_thread *thread = &first->paths[side].threads[side ? pair->b : pair->a];
		const uint64_t *known;

		key.size = 0;
		add_key_name(&key, analysis_diff_process_name(matching->runs[side], thread));
		common_write_le(&key, pair->process_order, 8);
		add_key_name(&key, analysis_diff_thread_name(matching->runs[side], thread));
		known = key.failed ? NULL : common_byte_map_get(&groups, key.data, key.size);
		members[i] = (struct member){known ? (size_t)*known : groups.used, i};
		if (!known)
			status = key.failed ? common_fail_memory("threads", key.size)
					    : common_byte_map_put(&groups, key.data, key.size, groups.used);
	}
	common_byte_map_free(&groups);
	common_bytes_free(&key);
	return status;
}

/* Which thread of a pool does which work depends on the scheduler: pairs threads of one name by what they did. */
static int match_alike(struct matching *matching)
{
	struct analysis_diff_first *first = matching->first;
	struct member *members = calloc(first->count + 1, sizeof(*members));
	size_t *pairs = calloc(first->count + 1, sizeof(*pairs));
	int status = members && pairs ? find_groups(matching, members)
				      : common_fail_memory("threads", first->count * sizeof(*members));

	if (!status && first->count)
		qsort(members, first->count, sizeof(*members), compare_members);
	for (size_t i = 0; !status && i < first->count;) {
		const size_t begin = i;

		for (; i < first->count && members[i].group == members[begin].group; i++)
			pairs[i - begin] = members[i].pair;
		if (i - begin > 1 && i - begin <= GROUP_MAX)
			status = pair_group(first, pairs, i - begin);
	}
	free(members);
	free(pairs);
	return status;
}

static int match(struct matching *matching)
{
	struct analysis_diff_first *first = matching->first;
	const size_t counts[2] = {first->paths[0].count, first->paths[1].count};
	struct place *a = calloc(counts[0] + 1, sizeof(*a)), *b = calloc(counts[1] + 1, sizeof(*b));
	int status = a && b ? 0 : common_fail_memory("threads", (counts[0] + counts[1]) * sizeof(*a));

	if (!status)
		status = find_places(matching, 0, a);
	if (!status)
		status = find_places(matching, 1, b);
	if (!status)
		status = join_places(first, a, b);
	if (!status)
		status = match_alike(matching);
	free_places(a, counts[0]);
	free_places(b, counts[1]);
	return status;
}

/* ---- the first difference ------------------------------------------------------------------------ */

/* Requests the units around the first chunk with a different hash. Returns false if the threads are equal. */
static bool want_stretch(struct analysis_diff_first *first, struct analysis_diff_pair *pair)
{
	struct analysis_diff_thread *a = &first->paths[0].threads[pair->a], *b = &first->paths[1].threads[pair->b];
	const size_t least = a->hash_count < b->hash_count ? a->hash_count : b->hash_count;
	size_t chunk = 0;

	while (chunk < least && a->hashes[chunk] == b->hashes[chunk])
		chunk++;
	pair->differs = a->units != b->units || chunk < least;
	if (!pair->differs) {
		pair->common = a->units;
		return false;
	}
	a->from = (uint64_t)chunk * ANALYSIS_DIFF_CHUNK;
	a->from = a->from > first->before ? a->from - first->before : 0;
	a->wanted = first->before + ANALYSIS_DIFF_CHUNK + first->after;
	b->from = a->from;
	b->wanted = a->wanted;
	return true;
}

static void find_parting(struct analysis_diff_first *first, struct analysis_diff_pair *pair)
{
	const struct analysis_diff_thread *a = &first->paths[0].threads[pair->a],
					  *b = &first->paths[1].threads[pair->b];

	while (pair->at < a->stretch_count && pair->at < b->stretch_count &&
	       analysis_diff_same_unit(&a->stretch[pair->at], &b->stretch[pair->at]))
		pair->at++;
	pair->common = a->from + pair->at;
}

int analysis_diff_find_first(const struct analysis_diff *diff, struct analysis_diff_first *first)
{
	struct matching matching = {.runs = {&diff->runs[0], &diff->runs[diff->first_count]}, .first = first};
	bool any = false;
	int status = 0;

	for (unsigned side = 0; !status && side < 2; side++)
		status = analysis_diff_path_run(diff, matching.runs[side], &first->paths[side]);
	if (!status)
		status = match(&matching);
	for (size_t i = 0; !status && i < first->count; i++) {
		struct analysis_diff_pair *pair = &first->pairs[i];

		if (pair->a == ANALYSIS_DIFF_NOBODY || pair->b == ANALYSIS_DIFF_NOBODY)
			pair->differs = true;
		else
			any |= want_stretch(first, pair);
	}
	for (unsigned side = 0; !status && any && side < 2; side++)
		status = analysis_diff_path_run(diff, matching.runs[side], &first->paths[side]);
	for (size_t i = 0; !status && i < first->count; i++)
		if (first->pairs[i].differs && first->pairs[i].a != ANALYSIS_DIFF_NOBODY &&
		    first->pairs[i].b != ANALYSIS_DIFF_NOBODY)
			find_parting(first, &first->pairs[i]);
	return status;
}

void analysis_diff_first_free(struct analysis_diff_first *first)
{
	analysis_diff_path_free(&first->paths[0]);
	analysis_diff_path_free(&first->paths[1]);
	free(first->pairs);
	*first = (struct analysis_diff_first){0};
}
