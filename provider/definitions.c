/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events that this program has defined. A trace can have only one schema of an event, so a later, different definition
 * is an error. Definitions are never removed, because a trace may have their events already. Callers hold the
 * registry's lock.
 */
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/vector.h"
#include "provider/state.h"

struct definition {
	struct ptl_guid provider;
	uint16_t id;
	uint8_t version;
	uint8_t opcode;
	uint64_t hash; /* hash of the schema */
};

static struct definition *definitions;
static size_t definition_count, definition_capacity;

static bool same_event(const struct definition *a, const struct definition *b)
{
	return a->id == b->id && a->version == b->version && a->opcode == b->opcode &&
	       !memcmp(&a->provider, &b->provider, sizeof(a->provider));
}

static bool make_definition_room(void)
{
	return COMMON_VECTOR_GROW(definitions, definition_capacity, definition_count + 1);
}

int provider_definition_add(const struct ptl_event_definition *event, const uint8_t *schema, size_t size)
{
	const struct definition made = {
		.provider = event->provider->guid,
		.id = event->id,
		.version = event->version,
		.opcode = event->opcode,
		.hash = common_fnv1a(COMMON_FNV1A, schema, size),
	};

	for (size_t i = 0; i < definition_count; i++)
		if (same_event(&definitions[i], &made))
			return definitions[i].hash == made.hash ? 0 : PTL_MISUSE;
	if (!make_definition_room())
		return PTL_NO_MEMORY;
	definitions[definition_count++] = made;
	return 0;
}

size_t provider_definition_count(void)
{
	return definition_count;
}

void provider_definition_forget(size_t count)
{
	definition_count = count;
}
