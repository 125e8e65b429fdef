/* SPDX-License-Identifier: BSD-2-Clause */
/* Disjoint sets of activities, as trees. */
#include "analysis/event/event_activity.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/text/guid.h"
#include "common/vector.h"

void analysis_activities_free(struct analysis_activities *activities)
{
	common_byte_map_free(&activities->numbers);
	free(activities->guids);
	free(activities->parents);
	*activities = (struct analysis_activities){0};
}

/* Finds the number of a GUID, or assigns a new number. */
static int activity_number_of(struct analysis_activities *activities, const struct ptl_guid *guid, uint32_t *number)
{
	const size_t count = activities->count;
	const uint64_t *known = common_byte_map_get(&activities->numbers, guid->bytes, sizeof(guid->bytes));

	if (known) {
		*number = (uint32_t)*known;
		return 0;
	}
	if (count == UINT32_MAX || !common_vector_room(&activities->guids, count, sizeof(*guid)) ||
	    !common_vector_room(&activities->parents, count, sizeof(*activities->parents)) ||
	    common_byte_map_put(&activities->numbers, guid->bytes, sizeof(guid->bytes), count) < 0)
		return common_fail_memory("activities", count * sizeof(*guid));
	activities->guids[count] = *guid;
	activities->parents[count] = (uint32_t)count;
	*number = (uint32_t)activities->count++;
	return 0;
}

int analysis_activities_ask(struct analysis_activities *activities, const struct ptl_guid *guid)
{
	uint32_t number;
	const int status = activity_number_of(activities, guid, &number);

	activities->selected_count = activities->count;
	return status;
}

static uint32_t root_of(const struct analysis_activities *activities, uint32_t number)
{
	/* Path halving: shortens the path for later calls. */
	while (activities->parents[number] != number) {
		activities->parents[number] = activities->parents[activities->parents[number]];
		number = activities->parents[number];
	}
	return number;
}

int analysis_activities_join(struct analysis_activities *activities, const struct ptl_event *event)
{
	static const struct ptl_guid none;
	const uint32_t both = PTL_EVENT_HAS_ACTIVITY | PTL_EVENT_HAS_RELATED;
	uint32_t one, other;
	int status;

	if ((event->flags & both) != both || common_guid_equal(&event->activity, &none) ||
	    common_guid_equal(&event->related, &none))
		return 0;
	status = activity_number_of(activities, &event->activity, &one);
	if (!status)
		status = activity_number_of(activities, &event->related, &other);
	if (status)
		return status;
	one = root_of(activities, one);
	other = root_of(activities, other);
	/* The lower number becomes the root, so a selected activity stays the root. */
	activities->parents[one > other ? one : other] = one < other ? one : other;
	return 0;
}

static bool wants(const struct analysis_activities *activities, const struct ptl_guid *guid)
{
	const uint64_t *known = common_byte_map_get(&activities->numbers, guid->bytes, sizeof(guid->bytes));

	return known && root_of(activities, (uint32_t)*known) < activities->selected_count;
}

bool analysis_activities_want(const struct analysis_activities *activities, const struct ptl_event *event)
{
	return ((event->flags & PTL_EVENT_HAS_ACTIVITY) && wants(activities, &event->activity)) ||
	       ((event->flags & PTL_EVENT_HAS_RELATED) && wants(activities, &event->related));
}
