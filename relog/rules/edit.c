/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets header members and payload fields of the current event. */
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/text/guid.h"
#include "query/evaluate_quick.h"
#include "relog/rules/edit.h"

/* ---- header ------------------------------------------------------------------------------ */

static int set_guid(struct rules_run *run, const struct rules_action *action, struct ptl_guid *guid, uint32_t flag)
{
	struct query_scope scope = rules_current_scope(run);
	const char *text;
	int status;

	if (action->provider)
		return rules_provider_guid(run, action->provider, action->at, guid);
	status = query_evaluate_text(&scope, action->value, "", &text);
	if (status < 0)
		return status;
	if (flag)
		run->now.event.flags &= ~flag;
	if (!*text && flag)
		return 0;
	if (!common_guid_parse(text, guid))
		return query_fail_at(run->rules->name, action->value->at,
				     "expected a GUID such as 9e814aad-3204-11d2-9a82-006008a86939, found "
				     "\"%.40s\"",
				     text);
	run->now.event.flags |= flag;
	return 0;
}

static int set_number(struct rules_run *run, const struct rules_action *action)
{
	static const uint64_t limits[] = {
		[QUERY_HEADER_ID] = UINT16_MAX,      [QUERY_HEADER_VERSION] = UINT8_MAX,
		[QUERY_HEADER_CHANNEL] = UINT8_MAX,  [QUERY_HEADER_LEVEL] = UINT8_MAX,
		[QUERY_HEADER_OPCODE] = UINT8_MAX,   [QUERY_HEADER_TASK] = UINT16_MAX,
		[QUERY_HEADER_KEYWORD] = UINT64_MAX, [QUERY_HEADER_PID] = UINT32_MAX,
		[QUERY_HEADER_TID] = UINT32_MAX,     [QUERY_HEADER_CPU] = UINT32_MAX,
		[QUERY_HEADER_TIME] = UINT64_MAX,
	};
	struct query_scope scope = rules_current_scope(run);
	struct ptl_event *event = &run->now.event;
	uint64_t n;
	int status = query_evaluate_number(&scope, action->value, limits[action->index], 0, &n);

	if (status < 0)
		return status;
	switch (action->index) {
	case QUERY_HEADER_ID:
		event->descriptor.id = (uint16_t)n;
		break;
	case QUERY_HEADER_VERSION:
		event->descriptor.version = (uint8_t)n;
		break;
	case QUERY_HEADER_CHANNEL:
		event->descriptor.channel = (uint8_t)n;
		break;
	case QUERY_HEADER_LEVEL:
		event->descriptor.level = (uint8_t)n;
		break;
	case QUERY_HEADER_OPCODE:
		event->descriptor.opcode = (uint8_t)n;
		break;
	case QUERY_HEADER_TASK:
		event->descriptor.task = (uint16_t)n;
		break;
	case QUERY_HEADER_KEYWORD:
		event->descriptor.keyword = n;
		break;
	case QUERY_HEADER_PID:
		event->pid = (uint32_t)n;
		break;
	case QUERY_HEADER_TID:
		event->tid = (uint32_t)n;
		break;
	case QUERY_HEADER_CPU:
		event->cpu = (uint32_t)n;
		break;
	default:
		event->time = n;
	}
	return 0;
}

static int set_header(struct rules_run *run, const struct rules_action *action)
{
	struct ptl_event *event = &run->now.event;

	run->now.changed = true;
	run->now.program = NULL;
	switch (action->index) {
	case QUERY_HEADER_PROVIDER:
		return set_guid(run, action, &event->descriptor.provider, 0);
	case QUERY_HEADER_ACTIVITY:
		return set_guid(run, action, &event->activity, PTL_EVENT_HAS_ACTIVITY);
	case QUERY_HEADER_RELATED:
		return set_guid(run, action, &event->related, PTL_EVENT_HAS_RELATED);
	default:
		return set_number(run, action);
	}
}

/* ---- fields ------------------------------------------------------------------------------ */

static int lacks_field(const struct rules_run *run, const struct query_field *field)
{
	const struct ptl_schema *schema = run->now.kind->schema;

	if (!schema)
		return query_fail_at(run->rules->name, field->at,
				     "expected an event with a schema, found one without, which has no field "
				     "'%.80s' (a schema statement gives it one)",
				     field->text);
	return query_fail_at(run->rules->name, field->at, "expected a field of the event %.80s, found '%.80s'",
			     schema->event_name && *schema->event_name ? schema->event_name : "at hand", field->text);
}

int rules_edit_lacks(const struct rules_run *run, unsigned field)
{
	const struct query_field *name = &run->now.bound->rule->fields.list[field];

	if (run->now.bound->fields[field].field)
		return query_fail_at(run->rules->name, name->at, "expected an array, found '%.80s', which is none",
				     name->text);
	return lacks_field(run, name);
}

/* Evaluates the expression of an action. A missing field or element is an error. */
static int evaluate(struct rules_run *run, const struct query_expr *expr, struct query_value *value)
{
	struct query_scope scope = rules_current_scope(run);
	int status;

	*value = (struct query_value){.kind = QUERY_VALUE_NUMBER};
	if (query_quick_number(&scope, expr, &value->number))
		return 0;
	status = query_evaluate(&scope, expr, value);
	if (!status && value->kind == QUERY_VALUE_NONE) {
		for (size_t i = 0; i < run->now.bound->rule->fields.count; i++)
			if (!run->now.bound->fields[i].field)
				return lacks_field(run, &run->now.bound->rule->fields.list[i]);
		return query_fail_at(run->rules->name, expr->at,
				     "expected a value, found that this event has no such element");
	}
	return status;
}

static int convert_value(struct rules_run *run, const struct query_expr *expr, const struct query_value *value,
			 struct ptl_value *field)
{
	int status;
	const char *expected = query_value_to_field(value, &run->scratch, field, &status);

	if (!status && expected)
		return query_fail_at(run->rules->name, expr->at, "expected %s for the field %.80s, found %s", expected,
				     field->field->name,
				     value->kind == QUERY_VALUE_NUMBER ? "another number"
				     : value->kind == QUERY_VALUE_TEXT ? "another text"
								       : query_value_name(value));
	return status;
}

/* Encodes values as the event's payload. Keeps the payload.rest bytes behind the last field. */
static int encode(struct rules_run *run, const struct rules_action *action, const struct ptl_schema *schema,
		  const struct ptl_value *values, size_t count)
{
	struct rules_current *now = &run->now;
	struct ptl_bytes out = {0};
	int status = ptl_payload_encode(schema, values, count, &out);

	common_write_bytes(&out, now->event.payload + (now->event.payload_size - now->payload.rest), now->payload.rest);
	if (!status && out.failed)
		status = common_fail_memory("a payload", out.size);
	if (!status && out.size > PTL_PAYLOAD_MAX)
		status = common_fail(PTL_MISUSE, "a payload has at most %u bytes", PTL_PAYLOAD_MAX);
	if (status == PTL_MISUSE)
		status = common_fail_in(PTL_CORRUPT, "%s:%u:%u", run->rules->name, action->at.line, action->at.column);
	if (!status) {
		now->event.payload = (const uint8_t *)common_arena_copy(&run->scratch, out.data, out.size);
		now->event.payload_size = out.size;
		now->own_payload = true;
		status = now->event.payload ? 0 : PTL_NO_MEMORY;
		rules_current_changed(run);
	}
	common_bytes_free(&out);
	return status;
}

static int decode_whole(struct rules_run *run, const struct rules_action *action)
{
	int status = rules_current_decode(run);

	if (!status && run->now.payload.truncated)
		return query_fail_at(run->rules->name, action->at,
				     "expected a payload that its schema explains, found one that ends early");
	return status;
}

int rules_edit_flush(struct rules_run *run, const struct rules_action *action)
{
	if (!run->now.pending)
		return 0;
	run->now.pending = false;
	return encode(run, action, run->now.kind->schema, run->now.payload.values, run->now.payload.count);
}

static int set_field(struct rules_run *run, const struct rules_action *action)
{
	const struct rules_bound *bound = run->now.bound;
	const struct query_location *location = &bound->fields[action->index];
	static const uint8_t sizes[] = {0, 1, 1, 2, 2, 4, 4, 8, 8}; /* sizes of the types up to I64 */
	struct ptl_value *found, fixed = {.field = location->field};
	struct query_value value;
	uint8_t *payload;
	int status;

	if (!location->field || location->field->type == PTL_TYPE_STRUCT)
		return lacks_field(run, &bound->rule->fields.list[action->index]);
	status = evaluate(run, action->value, &value);
	if (status < 0)
		return status;
	if (location->fixed && location->field->type < PTL_TYPE_F32 &&
	    run->now.event.payload_size >= location->offset + sizes[location->field->type]) {
		status = convert_value(run, action->value, &value, &fixed);
		if (!status)
			status = rules_edit_flush(run, action);
		if (!status)
			status = rules_current_own(run, &payload);
		if (!status)
			common_store_le(payload + location->offset, fixed.u, sizes[location->field->type]);
		rules_current_changed(run);
		return status;
	}
	status = decode_whole(run, action);
	if (status < 0)
		return status;
	found = query_payload_find(&run->now.payload, location, &run->now.loops);
	if (!found)
		return lacks_field(run, &bound->rule->fields.list[action->index]);
	status = convert_value(run, action->value, &value, found);
	if (status < 0)
		return status;
	/* A loop may set many values: encode the payload once, behind the loop. */
	run->now.pending = true;
	if (run->now.looping && !location->fixed) {
		run->now.changed = true;
		return 0;
	}
	return rules_edit_flush(run, action);
}

/* ---- adding and deleting fields ---------------------------------------------------------- */

static const struct rules_action *first_of(const struct rules_rule *rule, enum rules_action_kind kind)
{
	const struct rules_action *action = rule->actions;

	while (action && action->kind != kind)
		action = action->next;
	return action;
}

/* Marks the field, and the members of a structure, as deleted. Reduces the lengths of enclosing structures. */
static void mark_deleted(const struct ptl_schema *schema, const struct query_location *location,
			 struct ptl_field *fields, bool *gone)
{
	size_t count = 1;

	if (location->field->type == PTL_TYPE_STRUCT)
		count += location->field->length;
	for (size_t i = location->index; i < location->index + count && i < schema->field_count; i++) {
		if (gone[i])
			continue;
		gone[i] = true;
		for (unsigned level = 0; level < location->depth; level++)
			fields[location->chain[level] - schema->fields].length--;
	}
}

static int find_shape(struct rules_run *run, struct rules_bound *bound)
{
	const struct ptl_schema *schema = run->now.kind->schema;
	size_t old = schema ? schema->field_count : 0, adds = 0;
	struct common_arena *arena = &run->now.kind->arena;
	struct ptl_field *fields;
	bool *gone;

	for (const struct rules_action *a = bound->rule->actions; a; a = a->next)
		adds += a->kind == RULES_ACTION_ADD;
	fields = common_arena_zeroed(arena, (old + adds) * sizeof(*fields) + 1);
	gone = common_arena_zeroed(arena, old + 1);
	bound->new_index = common_arena_zeroed(arena, old * sizeof(*bound->new_index) + 1);
	if (!fields || !gone || !bound->new_index)
		return PTL_NO_MEMORY;
	if (old)
		memcpy(fields, schema->fields, old * sizeof(*fields));
	for (const struct rules_action *a = bound->rule->actions; a; a = a->next) {
		if (a->kind != RULES_ACTION_DELETE)
			continue;
		if (!bound->fields[a->index].field)
			return lacks_field(run, &bound->rule->fields.list[a->index]);
		mark_deleted(schema, &bound->fields[a->index], fields, gone);
	}
	for (size_t i = 0; i < old; i++) {
		bound->new_index[i] = gone[i] ? SIZE_MAX : bound->new_count;
		if (!gone[i])
			fields[bound->new_count++] = fields[i];
	}
	for (const struct rules_action *a = bound->rule->actions; a; a = a->next) {
		const struct ptl_field *last = bound->new_count ? &fields[bound->new_count - 1] : NULL;

		if (a->kind != RULES_ACTION_ADD)
			continue;
		for (size_t i = 0; i < bound->new_count; i++)
			if (fields[i].name && !strcmp(fields[i].name, a->field.name))
				return query_fail_at(run->rules->name, a->at,
						     "expected the name of a new field, found '%.80s', which the "
						     "event has",
						     a->field.name);
		if (last && last->type == PTL_TYPE_BYTES && !last->length)
			return query_fail_at(run->rules->name, a->at,
					     "expected an event to which a field can be added, found one whose "
					     "field %.80s takes the rest of the payload",
					     last->name);
		fields[bound->new_count++] = a->field;
	}
	bound->new_fields = fields;
	return 0;
}

static int add_values(struct rules_run *run, const struct rules_bound *bound, const struct rules_shape *shape,
		      struct ptl_value *values, size_t *count)
{
	size_t index = bound->new_count;

	for (const struct rules_action *a = bound->rule->actions; a; a = a->next)
		index -= a->kind == RULES_ACTION_ADD;
	for (const struct rules_action *a = bound->rule->actions; a; a = a->next) {
		int status;

		if (a->kind != RULES_ACTION_ADD)
			continue;
		values[*count] = (struct ptl_value){.field = &bound->new_fields[index]};
		status = convert_value(run, a->value, &shape->added[index - (bound->new_count - shape->added_count)],
				       &values[*count]);
		if (status < 0)
			return status;
		index++;
		++*count;
	}
	return 0;
}

/* Encodes the payload for the fields of the new shape. */
static int reshape(struct rules_run *run, struct rules_bound *bound, const struct rules_shape *shape)
{
	const struct ptl_schema *schema = run->now.kind->schema;
	const struct rules_action *at = first_of(bound->rule, RULES_ACTION_ADD);
	struct ptl_schema new_schema = {.event_name = schema ? schema->event_name : ""};
	struct ptl_value *values;
	size_t count = 0;
	int status;

	status = at ? decode_whole(run, at) : rules_current_decode(run);
	if (status < 0)
		return status;
	if (at && run->now.payload.rest)
		return query_fail_at(run->rules->name, at->at,
				     "expected an event to which a field can be added, found one with %zu bytes "
				     "behind its last field",
				     run->now.payload.rest);
	values = common_arena_zeroed(&run->scratch,
				     (run->now.payload.count + shape->added_count + 1) * sizeof(*values));
	if (!values)
		return PTL_NO_MEMORY;
	for (size_t i = 0; i < run->now.payload.count; i++) {
		size_t index = bound->new_index[run->now.payload.values[i].field - schema->fields];

		if (index == SIZE_MAX)
			continue;
		values[count] = run->now.payload.values[i];
		values[count++].field = &bound->new_fields[index];
	}
	status = add_values(run, bound, shape, values, &count);
	new_schema.fields = bound->new_fields;
	new_schema.field_count = bound->new_count;
	return status < 0
		       ? status
		       : encode(run, at ? at : first_of(bound->rule, RULES_ACTION_DELETE), &new_schema, values, count);
}

/* ---- actions of a rule ------------------------------------------------------------------- */

static int keep_added(struct rules_run *run, const struct rules_action *action, struct rules_shape *shape)
{
	struct query_value *values = common_arena_zeroed(&run->scratch, (shape->added_count + 1) * sizeof(*values));
	int status;

	if (!values)
		return PTL_NO_MEMORY;
	if (shape->added_count)
		memcpy(values, shape->added, shape->added_count * sizeof(*values));
	status = evaluate(run, action->value, &values[shape->added_count++]);
	shape->added = values;
	return status;
}

int rules_edit_action(struct rules_run *run, const struct rules_action *action, struct rules_shape *shape)
{
	switch (action->kind) {
	case RULES_ACTION_SET_HEADER:
		return set_header(run, action);
	case RULES_ACTION_SET_FIELD:
		return set_field(run, action);
	case RULES_ACTION_ADD:
		return keep_added(run, action, shape);
	default:
		return 0;
	}
}

int rules_edit_shape(struct rules_run *run, struct rules_bound *bound, const struct rules_shape *shape)
{
	struct ptl_schema schema = {
		.provider = run->now.event.descriptor.provider,
		.id = run->now.event.descriptor.id,
		.version = run->now.event.descriptor.version,
		.opcode = run->now.event.descriptor.opcode,
	};
	const struct ptl_schema *old = run->now.kind->schema;
	int status = bound->new_fields ? 0 : find_shape(run, bound);

	if (!status)
		status = reshape(run, bound, shape);
	schema.provider_name = old && old->provider_name ? old->provider_name : "";
	schema.event_name = old && old->event_name ? old->event_name : "";
	schema.task_name = old && old->task_name ? old->task_name : "";
	schema.opcode_name = old && old->opcode_name ? old->opcode_name : "";
	schema.message = "";
	schema.fields = bound->new_fields;
	schema.field_count = bound->new_count;
	return status < 0 ? status : rules_schema_made(run, &schema, bound->rule->at);
}
