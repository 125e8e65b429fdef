/* SPDX-License-Identifier: BSD-2-Clause */
/* When ptl-record resumed the packets of threads. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/partition.h"
#include "common/text/guid.h"
#include "flow/timeline/timeline_state.h"
#include "format/event/pause.h"

static bool is_resume(struct flow_pauses *pauses, const struct ptl_event *event)
{
	if (event->descriptor.id != FORMAT_PAUSE_RESUMED)
		return false;
	if (!pauses->is_named)
		pauses->is_named = ptl_guid_from_name(FORMAT_PAUSE_PROVIDER, &pauses->provider) == 0;
	return pauses->is_named && !memcmp(&event->descriptor.provider, &pauses->provider, sizeof(pauses->provider));
}

int flow_timeline_resumed(struct flow_timeline *timeline, const struct ptl_event *event)
{
	struct flow_pauses *pauses = &timeline->pauses;
	const uint64_t *known;
	struct flow_resumes *resumes;
	int status = 0;

	if (!is_resume(pauses, event))
		return 0;
	known = common_hash_map_get(&pauses->threads, event->tid);
	if (!known) {
		status = flow_timeline_grow((void **)&pauses->list, pauses->count, &pauses->capacity,
					    sizeof(*pauses->list));
		if (!status)
			status = common_hash_map_put(&pauses->threads, event->tid, pauses->count);
		if (status < 0)
			return status;
		pauses->list[pauses->count++] = (struct flow_resumes){0};
	}
	resumes = &pauses->list[known ? *known : pauses->count - 1];
	status = flow_timeline_grow((void **)&resumes->times, resumes->count, &resumes->capacity,
				    sizeof(*resumes->times));
	if (!status)
		resumes->times[resumes->count++] = event->time;
	return status;
}

bool flow_timeline_resumes(const struct flow_timeline *timeline, uint32_t tid, uint64_t from, uint64_t until)
{
	const uint64_t *known = timeline->pauses.count ? common_hash_map_get(&timeline->pauses.threads, tid) : NULL;
	const struct flow_resumes *resumes = known ? &timeline->pauses.list[*known] : NULL;
	size_t after;

	if (!resumes)
		return false;
	after = COMMON_PARTITION(resumes->count, at, resumes->times[at] <= from);
	return after < resumes->count && resumes->times[after] <= until;
}

void flow_timeline_free_pauses(struct flow_timeline *timeline)
{
	for (size_t i = 0; i < timeline->pauses.count; i++)
		free(timeline->pauses.list[i].times);
	free(timeline->pauses.list);
	common_hash_map_free(&timeline->pauses.threads);
}
