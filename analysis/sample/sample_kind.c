/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Classifies samples. All samples of counters are events with the same id: their fields give the counter, the sampled
 * address, and the period since the last sample.
 */
#include "analysis/sample/sample_kind.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/event/stack.h"
#include "common/error.h"
#include "common/text/text.h"
#include "common/vector.h"

#define LISTED_MAX 16
/* Limits for a hostile trace: samples with more names or longer names get the name of their schema. */
#define KINDS_MAX 4096
#define NAME_BYTES_MAX 256

void analysis_sample_kinds_free(struct analysis_sample_kinds *kinds)
{
	for (size_t i = 0; i < kinds->count; i++) {
		free(kinds->list[i].name);
		free(kinds->list[i].others[0]);
		free(kinds->list[i].others[1]);
	}
	free(kinds->list);
	common_byte_map_free(&kinds->by_key);
	common_hash_map_free(&kinds->schemas);
	common_bytes_free(&kinds->key);
}

/* ---- fields -------------------------------------------------------------------------------------- */

struct fields {
	const uint8_t *name; /* of the counter */
	size_t name_size;
	uint64_t instruction, period;
};

static int take_field(void *context, const struct ptl_value *value)
{
	struct fields *fields = context;
	const struct ptl_field *field = value->field;

	if (value->depth || field->array)
		return 0;
	if (field->type == PTL_TYPE_POINTER && !strcmp(field->name, "InstructionPointer")) {
		fields->instruction = value->u;
	} else if (field->type == PTL_TYPE_U64 && !strcmp(field->name, "Period")) {
		fields->period = value->u;
	} else if (field->type == PTL_TYPE_UTF8 && !strcmp(field->name, "Event")) {
		fields->name = value->bytes;
		fields->name_size = value->size;
	}
	return 0;
}

static bool has_instruction(const struct ptl_schema *schema)
{
	for (size_t i = 0; i < schema->field_count; i++)
		if (schema->fields[i].type == PTL_TYPE_POINTER && !strcmp(schema->fields[i].name, "InstructionPointer"))
			return true;
	return false;
}

/* ---- kinds --------------------------------------------------------------------------------------- */

static bool is_called(const char *pattern, const char *name)
{
	return name && fnmatch(pattern, name, FNM_CASEFOLD) == 0;
}

/*
 * Returns the length of the counter's name, without a suffix that says how the counter was used: "cycles:u",
 * "cpu-clock/freq=999/".
 */
static size_t end_of_counter(const char *name)
{
	static const char *const behind[] = {":", "/freq=", "/period="};
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(behind) / sizeof(behind[0]); i++) {
		const char *end = strstr(name, behind[i]);

		if (end && (size_t)(end - name) < length)
			length = (size_t)(end - name);
	}
	return length;
}

static bool counts(const char *pattern, const char *name)
{
	const size_t length = end_of_counter(name);
	char *counter = name[length] ? strndup(name, length) : NULL;
	const bool is = is_called(pattern, counter);

	free(counter);
	return is;
}

static bool is_wanted_kind(const struct analysis_sample_kinds *kinds, const struct analysis_sample_kind *kind)
{
	const char *pattern = kinds->pattern;

	if (!pattern)
		return kinds->exact && !strcmp(kinds->exact, kind->name);
	return is_called(pattern, kind->name) || is_called(pattern, kind->others[0]) ||
	       is_called(pattern, kind->others[1]) || (kind->counted && counts(pattern, kind->name));
}

static int name_kind(const struct analysis_sample_kinds *kinds, struct analysis_sample_kind *kind,
		     const struct ptl_descriptor *descriptor, const struct ptl_schema *schema,
		     const struct fields *fields)
{
	struct ptl_bytes text = {0};

	analysis_text_full_name(&text, kinds->names, descriptor, schema);
	kind->others[0] = text.failed ? NULL : strdup(common_text_string(&text));
	kind->others[1] = strdup(schema ? schema->event_name : "");
	if (fields->name_size) {
		text.size = 0;
		common_text_safe_n(&text, (const char *)fields->name, fields->name_size);
	}
	kind->name = text.failed ? NULL : strdup(common_text_string(&text));
	common_bytes_free(&text);
	return kind->name && kind->others[0] && kind->others[1] ? 0 : common_fail_memory("names of events", text.size);
}

static int add_kind(struct analysis_sample_kinds *kinds, const struct ptl_descriptor *descriptor,
		    const struct ptl_schema *schema, const struct fields *fields, bool counted)
{
	struct analysis_sample_kind *kind;
	int status = COMMON_VECTOR_RESERVE(kinds->list, kinds->capacity, kinds->count + 1, "names of events");

	if (status < 0)
		return status;
	kind = &kinds->list[kinds->count++];
	*kind = (struct analysis_sample_kind){.counted = counted};
	status = name_kind(kinds, kind, descriptor, schema, fields);
	if (status < 0)
		return status;
	kind->wanted = is_wanted_kind(kinds, kind);
	return common_byte_map_put(&kinds->by_key, kinds->key.data, kinds->key.size, kinds->count - 1);
}

static int find_kind(struct analysis_sample_kinds *kinds, const struct ptl_descriptor *descriptor,
		     const struct ptl_schema *schema, const struct fields *fields, bool counted, size_t *number)
{
	struct ptl_bytes *key = &kinds->key;
	const uint64_t *known;
	int status = 0;

	key->size = 0;
	common_write_bytes(key, descriptor->provider.bytes, sizeof(descriptor->provider.bytes));
	common_write_le(key, descriptor->id, 2);
	common_write_le(key, descriptor->version, 1);
	common_write_le(key, descriptor->opcode, 1);
	if (fields->name_size)
		common_write_bytes(key, fields->name, fields->name_size);
	if (key->failed)
		return common_fail_memory("names of events", key->size);
	known = common_byte_map_get(&kinds->by_key, key->data, key->size);
	if (!known)
		status = add_kind(kinds, descriptor, schema, fields, counted);
	*number = known ? (size_t)*known : kinds->count - 1;
	return status;
}

/* Value in `schemas` instead of an index: the fields of the event determine the kind. */
#define COUNTED SIZE_MAX

/* Finds the kind of a schema's events; COUNTED if the kind depends on the event's fields. */
static int find_schema(struct analysis_sample_kinds *kinds, const struct ptl_descriptor *descriptor,
		       const struct ptl_schema *schema, size_t *number)
{
	const struct fields none = {0};
	const uint64_t *known = schema ? common_hash_map_get(&kinds->schemas, (uintptr_t)schema) : NULL;
	int status = 0;

	if (known) {
		*number = (size_t)*known;
		return 0;
	}
	*number = COUNTED;
	if (!schema || !has_instruction(schema))
		status = find_kind(kinds, descriptor, schema, &none, false, number);
	if (status == 0 && schema)
		status = common_hash_map_put(&kinds->schemas, (uintptr_t)schema, *number);
	return status;
}

int analysis_sample_read(struct analysis_sample_kinds *kinds, const struct ptl_event *event,
			 const struct ptl_schema *schema, struct analysis_sample *sample)
{
	struct fields fields = {0};
	struct analysis_sample_kind *kind;
	size_t number;
	int status = find_schema(kinds, &event->descriptor, schema, &number);

	if (status == 0 && number == COUNTED) {
		/* A truncated payload gives the fields before its end. */
		(void)ptl_payload_decode(schema, event->payload, event->payload_size, take_field, &fields, NULL);
		if (fields.name_size > NAME_BYTES_MAX || kinds->count >= KINDS_MAX)
			fields.name_size = 0;
		status = find_kind(kinds, &event->descriptor, schema, &fields, true, &number);
	}
	if (status < 0)
		return status;
	*sample = (struct analysis_sample){
		.instruction = fields.instruction, .period = fields.period, .has_stack = analysis_has_stack(event)};
	kind = &kinds->list[number];
	if (!sample->has_stack && !sample->instruction) {
		kind->without++;
		return 0;
	}
	kind->events++;
	return kind->wanted;
}

/* ---- merge --------------------------------------------------------------------------------------- */

static struct analysis_sample_kind *find_same(const struct analysis_sample_kinds *kinds,
					      const struct analysis_sample_kind *other)
{
	for (size_t i = 0; i < kinds->count; i++)
		if (!strcmp(kinds->list[i].name, other->name) && !strcmp(kinds->list[i].others[0], other->others[0]) &&
		    !strcmp(kinds->list[i].others[1], other->others[1]))
			return &kinds->list[i];
	return NULL;
}

int analysis_sample_kinds_merge(struct analysis_sample_kinds *kinds, struct analysis_sample_kinds *others)
{
	for (size_t i = 0; i < others->count; i++) {
		struct analysis_sample_kind *other = &others->list[i], *same = find_same(kinds, other);

		if (same) {
			same->events += other->events;
			same->without += other->without;
			continue;
		}
		if (COMMON_VECTOR_RESERVE(kinds->list, kinds->capacity, kinds->count + 1, "names of events") < 0)
			return PTL_NO_MEMORY;
		kinds->list[kinds->count++] = *other;
		/* `kinds` owns the names now. */
		other->name = other->others[0] = other->others[1] = NULL;
	}
	return 0;
}

/* ---- choice of a kind ---------------------------------------------------------------------------- */

static int compare_kinds(const void *a_, const void *b_)
{
	const struct analysis_sample_kind *a = *(const struct analysis_sample_kind *const *)a_;
	const struct analysis_sample_kind *b = *(const struct analysis_sample_kind *const *)b_;

	if (a->events != b->events)
		return a->events > b->events ? -1 : 1;
	return strcmp(a->name, b->name);
}

int analysis_sample_kinds_text(const struct analysis_sample_kinds *kinds, struct ptl_bytes *text)
{
	const struct analysis_sample_kind **order = malloc((kinds->count + 1) * sizeof(*order));
	size_t count = 0;

	if (!order)
		return common_fail_memory("names of events", kinds->count * sizeof(*order));
	for (size_t i = 0; i < kinds->count; i++)
		if (kinds->list[i].events)
			order[count++] = &kinds->list[i];
	if (count)
		qsort(order, count, sizeof(*order), compare_kinds);
	for (size_t i = 0; i < count && i < LISTED_MAX; i++) {
		common_text_format(text, "%s%s (", i ? ", " : "", order[i]->name);
		common_text_count(text, order[i]->events);
		common_text_add(text, ")");
	}
	if (count > LISTED_MAX)
		common_text_add(text, ", ...");
	free(order);
	return text->failed ? common_fail_memory("names of events", text->size) : 0;
}

const struct analysis_sample_kind *analysis_sample_kinds_choose(const struct analysis_sample_kinds *kinds)
{
	const struct analysis_sample_kind *chosen = NULL;
	size_t rivals = 0;

	for (size_t i = 0; i < kinds->count; i++) {
		const struct analysis_sample_kind *kind = &kinds->list[i];

		if (!kind->events || (chosen && (chosen->counted > kind->counted || !strcmp(chosen->name, kind->name))))
			continue;
		rivals = chosen && chosen->counted == kind->counted ? rivals + 1 : 0;
		chosen = kind;
	}
	return rivals ? NULL : chosen;
}
