/* SPDX-License-Identifier: BSD-2-Clause */
/* Which activities belong together: events that name an activity and a related one join the two. */
#ifndef DUMP_EVENT_EVENT_ACTIVITY_H
#define DUMP_EVENT_EVENT_ACTIVITY_H

#include <stdbool.h>

#include <ptl/event.h>

#include "common/hash_map.h"

/* Zero-initialised: no activity is wanted. */
struct dump_activities {
	struct common_byte_map numbers; /* of GUIDs */
	struct ptl_guid *guids;         /* by number; those that were asked for come first */
	uint32_t *parents;              /* by number: the tree's root is its own */
	size_t count;
	size_t asked;
};

void dump_activities_free(struct dump_activities *activities);
/* Asks for an activity, before any dump_activities_join. PTL_NO_MEMORY. */
int dump_activities_ask(struct dump_activities *activities, const struct ptl_guid *guid);
/* Learns from an event what belongs together. PTL_NO_MEMORY. */
int dump_activities_join(struct dump_activities *activities, const struct ptl_event *event);
/*
 * Whether the event's activity or related activity is one that was asked for, or was joined with one.
 */
bool dump_activities_want(const struct dump_activities *activities, const struct ptl_event *event);

#endif
