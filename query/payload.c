/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds fields in schemas, once per schema, and field values in payloads. */
#include "query/payload.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"

/* ---- locations of fields ----------------------------------------------------------------- */

static unsigned fixed_size(const struct ptl_field *field)
{
	static const uint8_t sizes[PTL_TYPE_STRUCT + 1] = {
		[PTL_TYPE_U8] = 1,   [PTL_TYPE_I8] = 1,    [PTL_TYPE_U16] = 2,       [PTL_TYPE_I16] = 2,
		[PTL_TYPE_U32] = 4,  [PTL_TYPE_I32] = 4,   [PTL_TYPE_U64] = 8,       [PTL_TYPE_I64] = 8,
		[PTL_TYPE_F32] = 4,  [PTL_TYPE_F64] = 8,   [PTL_TYPE_BOOL8] = 1,     [PTL_TYPE_BOOL32] = 4,
		[PTL_TYPE_TIME] = 8, [PTL_TYPE_GUID] = 16, [PTL_TYPE_WALL_TIME] = 8, [PTL_TYPE_POINTER] = 8,
	};

	return field->array == PTL_ARRAY_NONE && field->type <= PTL_TYPE_STRUCT ? sizes[field->type] : 0;
}

/* Returns the field with this name in [from, to), without searching structures. */
static size_t find_member(const struct ptl_schema *schema, size_t from, size_t to, const char *name)
{
	for (size_t i = from; i < to; i++) {
		const struct ptl_field *field = &schema->fields[i];

		if (field->name && !strcmp(field->name, name))
			return i;
		if (field->type == PTL_TYPE_STRUCT)
			i += field->length < to - i ? field->length : to - i - 1;
	}
	return SIZE_MAX;
}

static void find_offset(const struct ptl_schema *schema, struct query_location *location)
{
	uint32_t offset = 0;

	if (location->depth != 0 || !fixed_size(location->field) || location->field->type == PTL_TYPE_GUID)
		return;
	for (size_t i = 0; i < location->index; i++) {
		unsigned size = fixed_size(&schema->fields[i]);

		if (!size)
			return;
		offset += size;
	}
	location->fixed = true;
	location->offset = offset;
}

void query_locate(const struct ptl_schema *schema, const struct query_field *name, struct query_location *location)
{
	size_t from = 0, to = schema ? schema->field_count : 0;
	const struct ptl_field *field = NULL;

	*location = (struct query_location){0};
	for (size_t i = 0; i < name->step_count; i++) {
		bool element = i + 1 < name->step_count && !name->steps[i + 1].name;
		size_t at = name->steps[i].name ? find_member(schema, from, to, name->steps[i].name) : SIZE_MAX;

		if (at == SIZE_MAX || location->depth + 1 >= QUERY_NESTING_MAX)
			return;
		field = &schema->fields[at];
		location->index = at;
		location->chain[location->depth] = field;
		if (element != (field->array != PTL_ARRAY_NONE) && (element || !name->whole))
			return;
		location->whole |= element != (field->array != PTL_ARRAY_NONE);
		location->element[location->depth] = element ? name->steps[i + 1].index : 0;
		location->loop[location->depth] = element ? name->steps[i + 1].loop : 0;
		i += element;
		if (i + 1 == name->step_count)
			break;
		if (field->type != PTL_TYPE_STRUCT)
			return;
		from = at + 1;
		to = field->length < to - from ? from + field->length : to;
		location->depth++;
	}
	location->field = field;
	if (!location->whole)
		find_offset(schema, location);
}

/* ---- values ------------------------------------------------------------------------------ */

static int keep_value(void *context, const struct ptl_value *value)
{
	struct query_payload *payload = context;

	if (COMMON_VECTOR_RESERVE(payload->values, payload->room, payload->count + 1, "fields"))
		return PTL_NO_MEMORY;
	payload->values[payload->count++] = *value;
	return 0;
}

int query_payload_decode(struct query_payload *payload, const struct ptl_schema *schema, const uint8_t *bytes,
			 size_t size)
{
	int status;

	if (payload->decoded)
		return 0;
	payload->count = 0;
	payload->rest = 0;
	payload->decoded = true;
	payload->found.depth = 0;
	if (!schema)
		return 0;
	status = ptl_payload_decode(schema, bytes, size, keep_value, payload, &payload->rest);
	/* Keep the values before the truncation. */
	payload->truncated = status < 0;
	return status == PTL_NO_MEMORY ? status : 0;
}

void query_payload_free(struct query_payload *payload)
{
	free(payload->values);
	*payload = (struct query_payload){0};
}

static uint32_t element_of(const struct query_loops *loops, const struct query_location *location, unsigned depth)
{
	return location->loop[depth] ? loops->at[location->loop[depth] - 1] : location->element[depth];
}

/* Returns where to resume from the last search. *level: number of leading levels that match. */
static size_t start_of(const struct query_payload *payload, const struct query_location *location,
		       const struct query_loops *loops, unsigned *level)
{
	const struct query_found *found = &payload->found;

	for (*level = 0; *level < found->depth; ++*level) {
		uint32_t wanted = element_of(loops, location, *level);

		if (found->field[*level] != location->chain[*level] || found->element[*level] > wanted)
			break;
		if (found->element[*level] < wanted || *level == location->depth)
			return found->at[*level];
	}
	return *level ? found->at[*level - 1] + 1 : 0;
}

static void remember_element(struct query_found *found, const struct ptl_value *value, unsigned depth, size_t at)
{
	found->field[depth] = value->field;
	found->element[depth] = value->index;
	found->at[depth] = at;
	found->depth = depth + 1;
}

struct ptl_value *query_payload_find(struct query_payload *payload, const struct query_location *location,
				     const struct query_loops *loops)
{
	unsigned matched; /* levels of the chain that match so far */

	for (size_t i = start_of(payload, location, loops, &matched); i < payload->count; i++) {
		struct ptl_value *value = &payload->values[i];
		unsigned depth = value->depth;

		if (depth > matched)
			continue;
		matched = depth;
		if (value->field != location->chain[depth])
			continue;
		if (!location->whole || depth < location->depth) {
			remember_element(&payload->found, value, depth, i);
			if (value->index != element_of(loops, location, depth))
				continue;
		}
		if (depth == location->depth)
			return value;
		matched = depth + 1;
	}
	return NULL;
}

uint32_t query_payload_elements(struct query_payload *payload, const struct query_location *location,
				const struct query_loops *loops)
{
	const struct ptl_value *first = query_payload_find(payload, location, loops);
	uint32_t count = first ? 1 : 0;

	for (size_t i = first ? (size_t)(first - payload->values) + 1 : 0; first && i < payload->count; i++) {
		const struct ptl_value *value = &payload->values[i];

		if (value->depth < location->depth || (value->depth == location->depth && value->field != first->field))
			break;
		count += value->depth == location->depth;
	}
	return count;
}

int query_payload_value(struct query_payload *payload, const struct query_location *location,
			const struct query_loops *loops, struct common_arena *scratch, struct query_value *value)
{
	const struct ptl_value *found = query_payload_find(payload, location, loops);

	*value = (struct query_value){0};
	if (!found)
		return 0;
	if (location->whole || location->field->type == PTL_TYPE_STRUCT) {
		/* Only has() needs this case, and asks for the field's presence. */
		*value = (struct query_value){.kind = QUERY_VALUE_BOOL, .truth = true};
		return 0;
	}
	return query_value_of_field(found, scratch, value);
}
