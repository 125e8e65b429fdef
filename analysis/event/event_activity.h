/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets of related activities: an event with an activity and a related activity joins both. */
#ifndef ANALYSIS_EVENT_EVENT_ACTIVITY_H
#define ANALYSIS_EVENT_EVENT_ACTIVITY_H

#include <stdbool.h>

#include <ptl/event.h>

#include "common/hash_map.h"

/* Zero-initialised: no activity is selected. */
struct analysis_activities {
	struct common_byte_map numbers; /* numbers by GUID */
	struct ptl_guid *guids;         /* by number; selected activities come first */
	uint32_t *parents;              /* by number; the root of a tree is its own parent */
	size_t count;
	size_t selected_count;
};

void analysis_activities_free(struct analysis_activities *activities);
/* Selects an activity. Call before any analysis_activities_join. Returns 0 or PTL_NO_MEMORY. */
int analysis_activities_ask(struct analysis_activities *activities, const struct ptl_guid *guid);
/* Joins the activity and the related activity of an event. Returns 0 or PTL_NO_MEMORY. */
int analysis_activities_join(struct analysis_activities *activities, const struct ptl_event *event);
/* Whether the event's activity or related activity is selected, or is joined with a selected activity. */
bool analysis_activities_want(const struct analysis_activities *activities, const struct ptl_event *event);

#endif
