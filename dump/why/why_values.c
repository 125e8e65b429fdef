/* SPDX-License-Identifier: BSD-2-Clause */
/* The counts by kind of event, field and value. */
#include "dump/why/why_values.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/event/value.h"
#include "common/error.h"
#include "common/text/text.h"
#include "common/vector.h"

#define DISTINCT_MAX 256 /* values of a field that are counted: a field with more values has a value for each call */
#define TEXT_MAX 80u     /* bytes of a value's text */
#define TELLS 0.3        /* least difference of the shares of calls */

/* ---- counts -------------------------------------------------------------------------------------- */

static void key_of_field(struct dump_why_value_count *count, const struct ptl_value *value)
{
	count->key.size = 0;
	common_write_bytes(&count->key, &count->kind, sizeof(count->kind));
	common_write_bytes(&count->key, &value->field, sizeof(value->field));
}

/* Returns whether one more value of the field is counted. */
static bool is_wanted(struct dump_why_value_count *count)
{
	uint64_t *distinct = common_byte_map_get(&count->distinct, count->key.data, count->key.size);

	if (!distinct) {
		count->status = common_byte_map_put(&count->distinct, count->key.data, count->key.size, 1);
		return count->status == 0;
	}
	if (*distinct == DISTINCT_MAX)
		count->why->value_fields_left_out++;
	return (*distinct)++ < DISTINCT_MAX;
}

/* Finds or adds the value in count->text. Returns NULL if the value is not counted. */
static struct dump_why_value *value_of(struct dump_why_value_count *count, const struct ptl_value *value)
{
	struct dump_why *why = count->why;
	const size_t field_size = count->key.size;
	const uint64_t *known;
	struct dump_why_value *added;

	common_write_bytes(&count->key, count->text.data, count->text.size);
	if (count->key.failed || count->text.failed) {
		count->status = common_fail_memory("values", count->key.size);
		return NULL;
	}
	known = common_byte_map_get(&count->numbers, count->key.data, count->key.size);
	if (known)
		return &why->values[*known];
	count->key.size = field_size;
	if (!is_wanted(count))
		return NULL;
	common_write_bytes(&count->key, count->text.data, count->text.size);
	count->status = COMMON_VECTOR_RESERVE(why->values, why->value_capacity, why->value_count + 1, "values");
	if (count->status == 0)
		count->status = common_byte_map_put(&count->numbers, count->key.data, count->key.size,
						    why->value_count);
	if (count->status < 0)
		return NULL;
	added = &why->values[why->value_count];
	*added = (struct dump_why_value){.descriptor = count->event->descriptor,
					 .schema = count->values.schema,
					 .kind = count->kind,
					 .field = value->field};
	added->text = strndup((const char *)count->text.data, count->text.size);
	if (!added->text) {
		count->status = common_fail_memory("values", count->text.size);
		return NULL;
	}
	why->value_count++;
	return added;
}

/* Members of structures and elements of arrays are not counted, and times are different in each event. */
static bool is_counted(const struct ptl_value *value)
{
	const uint8_t type = value->field->type;

	return !value->depth && !value->index && type != PTL_TYPE_STRUCT && type != PTL_TYPE_TIME &&
	       type != PTL_TYPE_WALL_TIME;
}

static int visit(void *context, const struct ptl_value *value)
{
	struct dump_why_value_count *count = context;
	struct dump_why_value *found;
	enum dump_why_side side;

	if (!is_counted(value))
		return 0;
	count->text.size = 0;
	analysis_text_value(&count->text, &count->values, value, true);
	if (count->text.size > TEXT_MAX)
		return 0;
	key_of_field(count, value);
	found = value_of(count, value);
	if (!found || found->last == count->call + 1)
		return count->status;
	side = count->why->set.calls[count->call].slow ? DUMP_WHY_SLOW : DUMP_WHY_OTHER;
	found->present[side]++;
	found->last = count->call + 1;
	return 0;
}

int dump_why_values_add(struct dump_why_value_count *count, const struct ptl_event *event,
			const struct ptl_schema *schema, size_t kind, size_t call)
{
	if (!schema)
		return 0;
	count->kind = (uint32_t)kind;
	count->call = call;
	count->event = event;
	count->values.names = &count->why->names;
	count->values.schema = schema;
	/* A payload that ends early has the values before its end. */
	(void)ptl_payload_decode(schema, event->payload, event->payload_size, visit, count, NULL);
	return count->status;
}

/* ---- order --------------------------------------------------------------------------------------- */

double dump_why_value_difference(const struct dump_why *why, const struct dump_why_value *value)
{
	return dump_why_mean(why, value->present[DUMP_WHY_SLOW], DUMP_WHY_SLOW) -
	       dump_why_mean(why, value->present[DUMP_WHY_OTHER], DUMP_WHY_OTHER);
}

static int compare_values(const void *a_, const void *b_, void *context)
{
	const struct dump_why_value *a = a_, *b = b_;
	const double left = dump_why_value_difference(context, a), right = dump_why_value_difference(context, b);

	if (left != right)
		return left > right ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->field != b->field ? (a->field < b->field ? -1 : 1) : strcmp(a->text, b->text);
}

void dump_why_values_finish(struct dump_why_value_count *count)
{
	struct dump_why *why = count->why;
	size_t kept = 0;

	for (size_t i = 0; i < why->value_count; i++)
		if (dump_why_value_difference(why, &why->values[i]) >= TELLS)
			why->values[kept++] = why->values[i];
		else
			free(why->values[i].text);
	why->value_count = kept;
	if (kept)
		qsort_r(why->values, kept, sizeof(*why->values), compare_values, why);
	common_byte_map_free(&count->numbers);
	common_byte_map_free(&count->distinct);
	common_bytes_free(&count->key);
	common_bytes_free(&count->text);
	common_bytes_free(&count->values.scratch);
}
