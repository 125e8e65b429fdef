/* SPDX-License-Identifier: BSD-2-Clause */
/* Schemas of rules, and schemas of events whose fields a rule changes. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/guid.h"
#include "common/vector.h"
#include "relog/rules/run_state.h"

/* A schema that the run owns. */
struct rules_schema_made {
	struct ptl_schema schema;
	struct common_arena arena;
};

int rules_provider_guid(const struct rules_run *run, const struct rules_provider *provider, struct query_place at,
			struct ptl_guid *guid)
{
	*guid = provider->guid;
	if (provider->has_guid)
		return 0;
	for (size_t t = 0; t < run->trace_count; t++)
		for (size_t i = 0; i < ptl_schema_count(run->traces[t]); i++) {
			const struct ptl_schema *schema = ptl_schema_at(run->traces[t], i);

			*guid = schema->provider;
			if (schema->provider_name && !strcmp(schema->provider_name, provider->name))
				return 0;
		}
	return query_fail_at(run->rules->name, at,
			     "expected a provider that is in the trace or has a GUID, found \"%.80s\"", provider->name);
}

static bool explains(const struct ptl_schema *schema, const struct ptl_descriptor *descriptor)
{
	return common_guid_equal(&schema->provider, &descriptor->provider) && schema->id == descriptor->id &&
	       schema->version == descriptor->version && schema->opcode == descriptor->opcode;
}

static const struct ptl_schema *find_made(const struct rules_run *run, const struct ptl_descriptor *descriptor)
{
	for (size_t i = 0; i < run->made_count; i++)
		if (explains(&run->made[i].schema, descriptor))
			return &run->made[i].schema;
	return NULL;
}

const struct ptl_schema *rules_schema_of(const struct rules_run *run, struct ptl_trace *trace,
					 const struct ptl_descriptor *descriptor)
{
	const struct ptl_schema *schema = ptl_schema_find(trace, descriptor);

	return schema ? schema : find_made(run, descriptor);
}

static bool same_text(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

static bool same_fields(const struct ptl_schema *a, const struct ptl_schema *b)
{
	if (a->field_count != b->field_count)
		return false;
	for (size_t i = 0; i < a->field_count; i++) {
		const struct ptl_field *x = &a->fields[i], *y = &b->fields[i];

		if (!same_text(x->name, y->name) || x->type != y->type || x->array != y->array ||
		    x->length != y->length || x->array_length != y->array_length)
			return false;
	}
	return true;
}

static const char *copy_text(struct common_arena *arena, const char *text)
{
	return text ? common_arena_copy(arena, text, strlen(text)) : NULL;
}

/* Copies a schema: fields of a kind are freed with the kind. */
static int copy_schema(const struct ptl_schema *schema, struct rules_schema_made *made)
{
	size_t size = schema->field_count * sizeof(*schema->fields);
	struct ptl_field *fields = common_arena_zeroed(&made->arena, size + 1);

	made->schema = *schema;
	made->schema.provider_name = copy_text(&made->arena, schema->provider_name);
	made->schema.event_name = copy_text(&made->arena, schema->event_name);
	made->schema.task_name = copy_text(&made->arena, schema->task_name);
	made->schema.opcode_name = copy_text(&made->arena, schema->opcode_name);
	made->schema.message = copy_text(&made->arena, schema->message);
	made->schema.fields = fields;
	if (!fields)
		return PTL_NO_MEMORY;
	for (size_t i = 0; i < schema->field_count; i++) {
		fields[i] = schema->fields[i];
		fields[i].name = copy_text(&made->arena, fields[i].name);
		fields[i].map = copy_text(&made->arena, fields[i].map);
	}
	return 0;
}

static int add_made(struct rules_run *run, const struct ptl_schema *schema)
{
	int status;

	if (!common_vector_room(&run->made, run->made_count, sizeof(*run->made)))
		return common_fail_memory("schemas", (run->made_count + 1) * sizeof(*run->made));
	run->made[run->made_count] = (struct rules_schema_made){0};
	status = copy_schema(schema, &run->made[run->made_count++]);
	return status < 0 ? status : run->output.schema(run->output.context, schema);
}

int rules_schema_made(struct rules_run *run, const struct ptl_schema *schema, struct query_place at)
{
	const struct ptl_descriptor descriptor = {
		.provider = schema->provider,
		.id = schema->id,
		.version = schema->version,
		.opcode = schema->opcode,
	};
	const struct ptl_schema *known = find_made(run, &descriptor);
	int status = 0;

	for (size_t i = 0; !known && i < run->trace_count; i++)
		known = ptl_schema_find(run->traces[i], &descriptor);
	if (known && !same_fields(known, schema))
		return query_fail_at(run->rules->name, at,
				     "expected a provider, id, version and opcode without a schema, or with this "
				     "one, found that id %u, version %u, opcode %u have another schema (%.80s)",
				     schema->id, schema->version, schema->opcode,
				     known->event_name ? known->event_name : "");
	if (!known) {
		status = add_made(run, schema);
		run->forget_kinds = true;
	}
	return status;
}

/* Returns the name of a provider in the rules or in the trace; NULL: no name is known. */
static const char *provider_name(const struct rules_run *run, struct ptl_trace *trace, const struct ptl_guid *guid)
{
	for (const struct rules_provider *p = run->rules->providers; p; p = p->next)
		if (p->has_guid && p->name && common_guid_equal(&p->guid, guid))
			return p->name;
	for (size_t i = 0; i < ptl_schema_count(trace); i++) {
		const struct ptl_schema *schema = ptl_schema_at(trace, i);

		if (schema->provider_name && common_guid_equal(&schema->provider, guid))
			return schema->provider_name;
	}
	return NULL;
}

static int write_map(const struct rules_run *run, struct ptl_map map, const struct ptl_guid *provider)
{
	map.provider = *provider;
	return run->output.map(run->output.context, &map);
}

/* Gives another provider the maps that the fields of a schema refer to. */
static int copy_maps(const struct rules_run *run, struct ptl_trace *trace, const struct ptl_schema *schema,
		     const struct ptl_guid *provider)
{
	int status = 0;

	for (size_t i = 0; !status && i < schema->field_count; i++) {
		const struct ptl_map *map = ptl_map_of_field(trace, &schema->provider, &schema->fields[i]);

		if (map && !ptl_map_of_field(trace, provider, &schema->fields[i]))
			status = write_map(run, *map, provider);
	}
	return status;
}

int rules_schema_renumbered(struct rules_run *run, struct ptl_trace *trace, const struct ptl_schema *old,
			    const struct ptl_descriptor *descriptor, struct query_place at)
{
	struct ptl_schema schema = *old;
	const char *name;
	int status;

	if (rules_schema_of(run, trace, descriptor))
		return 0;
	schema.provider = descriptor->provider;
	schema.id = descriptor->id;
	schema.version = descriptor->version;
	schema.opcode = descriptor->opcode;
	name = provider_name(run, trace, &schema.provider);
	if (name)
		schema.provider_name = name;
	status = rules_schema_made(run, &schema, at);
	if (!status && !common_guid_equal(&schema.provider, &old->provider))
		status = copy_maps(run, trace, old, &schema.provider);
	return status;
}

/* Writes the names that a schema gives to numbers. */
static int write_maps(const struct rules_run *run, const struct rules_map *maps, const struct ptl_guid *provider)
{
	int status = 0;

	for (; !status && maps; maps = maps->next)
		status = write_map(run, maps->map, provider);
	return status;
}

int rules_schemas_start(struct rules_run *run)
{
	int status = 0;

	for (const struct rules_schema *s = run->rules->schemas; !status && s; s = s->next) {
		struct ptl_schema schema = s->schema;

		status = rules_provider_guid(run, s->provider, s->at, &schema.provider);
		if (s->provider->name)
			schema.provider_name = s->provider->name;
		if (!status)
			status = rules_schema_made(run, &schema, s->at);
		if (!status)
			status = write_maps(run, s->maps, &schema.provider);
	}
	return status;
}

void rules_schemas_free(struct rules_run *run)
{
	for (size_t i = 0; i < run->made_count; i++)
		common_arena_free(&run->made[i].arena);
	free(run->made);
	run->made = NULL;
	run->made_count = 0;
}
