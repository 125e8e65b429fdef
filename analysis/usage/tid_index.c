/* SPDX-License-Identifier: BSD-2-Clause */
#include "analysis/usage/tid_index.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/partition.h"

static int compare_threads(const void *a, const void *b, void *timeline)
{
	const struct flow_timeline_thread *x = flow_timeline_thread(timeline, *(const uint32_t *)a);
	const struct flow_timeline_thread *y = flow_timeline_thread(timeline, *(const uint32_t *)b);

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

int usage_tids_make(struct usage_tids *tids, const struct flow_timeline *timeline)
{
	const size_t count = flow_timeline_thread_count(timeline);

	*tids = (struct usage_tids){.timeline = timeline, .order = malloc((count + 1) * sizeof(*tids->order))};
	if (!tids->order)
		return common_fail_memory("threads", count * sizeof(*tids->order));
	for (size_t i = 0; i < count; i++)
		tids->order[i] = (uint32_t)i;
	qsort_r(tids->order, count, sizeof(*tids->order), compare_threads, (void *)(uintptr_t)timeline);
	tids->count = count;
	return 0;
}

void usage_tids_free(struct usage_tids *tids)
{
	free(tids->order);
	*tids = (struct usage_tids){.count = 0};
}

static const struct flow_timeline_thread *ordered(const struct usage_tids *tids, size_t at)
{
	return flow_timeline_thread(tids->timeline, tids->order[at]);
}

static bool is_before(const struct flow_timeline_thread *thread, uint32_t tid, uint64_t time)
{
	return thread->tid < tid || (thread->tid == tid && thread->start <= time);
}

const struct flow_timeline_thread *usage_tids_find(const struct usage_tids *tids, uint32_t tid, uint64_t time,
						   uint64_t *next)
{
	const size_t begin = COMMON_PARTITION(tids->count, at, ordered(tids, at)->tid < tid);
	const size_t after = COMMON_PARTITION(tids->count, at, is_before(ordered(tids, at), tid, time));
	const size_t at = after > begin ? after - 1 : begin;

	if (next)
		*next = at + 1 < tids->count && ordered(tids, at + 1)->tid == tid ? ordered(tids, at + 1)->start
										  : FLOW_TIME_END;
	return at < tids->count && ordered(tids, at)->tid == tid ? ordered(tids, at) : NULL;
}
