/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of values: their schemas, and payloads from messages of the runtime. */
#ifndef RECORD_VALUE_EVENT_H
#define RECORD_VALUE_EVENT_H

#include <ptl/event.h>

#include "record/capture/capture.h"
#include "record/channel/shared/channel.h"

/* In place of the address of a missing value: what uprobes do not tell. */
#define VALUE_MISSING_PAGE                                                                                             \
	(CHANNEL_VALUE_NO_ROOM - 1) /* whether the second page of a number in two pages is readable */
#define VALUE_MISSING_TEXT (CHANNEL_VALUE_NO_ROOM - 2) /* text behind a zero byte */

#define VALUE_VARIANTS_MAX 64u /* schemas of one plan */

struct value_event_field {
	char *name;
	uint8_t kind; /* enum channel_value_kind */
	uint8_t type, format, size;
	char why[136]; /* text of CHANNEL_VALUE_NOTHING */
	char *map;     /* name of the map of values; NULL: none */
};

/* A schema for messages in which the same fields are missing. */
struct value_variant {
	uint64_t missing;
	bool tail_call;
	uint16_t id;
};

/* Events of a plan. */
struct value_event {
	char *name;
	struct value_event_field *fields;
	size_t field_count;
	struct value_variant variants[VALUE_VARIANTS_MAX];
	size_t variant_count;
};

void value_event_free(struct value_event *event);
/*
 * Sets id and payload of the message's event. bytes: behind the message's head. *next_id: id of the next new schema. *valid: false if the message does not
 * fit the plan, or has no room for a schema. PTL_NO_MEMORY.
 */
int value_event_make(struct value_event *event, struct record_capture *capture, const struct ptl_guid *provider,
		     const struct channel_message_values *message, const uint8_t *bytes, uint16_t *next_id,
		     struct ptl_bytes *payload, uint16_t *id, bool *valid);

#endif
