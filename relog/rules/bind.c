/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds out, once for each kind of event, which rules may match it and where their fields are. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/guid.h"
#include "relog/rules/run_state.h"

#define KINDS_MAX 16384u /* then all are forgotten: descriptors may be of any number */

_Static_assert(sizeof(struct ptl_descriptor) == 32, "descriptors are compared as bytes");

static bool names_provider(const struct rules_provider *provider, struct ptl_trace *trace, const struct ptl_guid *guid)
{
	if (provider->has_guid)
		return common_guid_equal(&provider->guid, guid);
	for (size_t i = 0; i < ptl_schema_count(trace); i++) {
		const struct ptl_schema *schema = ptl_schema_at(trace, i);

		if (common_guid_equal(&schema->provider, guid) && schema->provider_name &&
		    !strcmp(schema->provider_name, provider->name))
			return true;
	}
	return false;
}

int rules_provider_guid(const struct rules_run *run, const struct rules_provider *provider, struct rules_place at,
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
	return rules_fail_at(run->rules, at, "expected a provider that is in the trace or has a GUID, found \"%.80s\"",
			     provider->name);
}

/* ---- fields ------------------------------------------------------------------------------ */

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

/* The field of this name among [from, to), not looking into structures. */
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

static void find_offset(const struct ptl_schema *schema, struct rules_location *location)
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

/* Leaves location->field NULL where the schema has no such field. */
static void locate(const struct ptl_schema *schema, const struct rules_field *name, struct rules_location *location)
{
	size_t from = 0, to = schema ? schema->field_count : 0;
	const struct ptl_field *field = NULL;

	*location = (struct rules_location){0};
	for (size_t i = 0; i < name->step_count; i++) {
		bool element = i + 1 < name->step_count && !name->steps[i + 1].name;
		size_t at = name->steps[i].name ? find_member(schema, from, to, name->steps[i].name) : SIZE_MAX;

		if (at == SIZE_MAX || location->depth + 1 >= RULES_NESTING_MAX)
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

static bool locate_all(const struct ptl_schema *schema, struct rules_bound *bound)
{
	for (size_t i = 0; i < bound->rule->field_count; i++) {
		locate(schema, &bound->rule->fields[i], &bound->fields[i]);
		if (!bound->fields[i].field && bound->rule->fields[i].condition)
			return false;
	}
	return true;
}

/* ---- kinds ------------------------------------------------------------------------------- */

static bool may_match(const struct rules_rule *rule, struct ptl_trace *trace, const struct ptl_descriptor *descriptor)
{
	const uint64_t values[] = {
		[RULES_MATCH_ID] = descriptor->id,         [RULES_MATCH_VERSION] = descriptor->version,
		[RULES_MATCH_OPCODE] = descriptor->opcode, [RULES_MATCH_CHANNEL] = descriptor->channel,
		[RULES_MATCH_LEVEL] = descriptor->level,   [RULES_MATCH_TASK] = descriptor->task,
	};

	if (rule->provider && !names_provider(rule->provider, trace, &descriptor->provider))
		return false;
	if (rule->has_keyword && !(rule->keyword & descriptor->keyword))
		return false;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		if (!rules_in_ranges(&rule->match[i], values[i]))
			return false;
	return true;
}

/* A context switch has another payload than the other thread events, and tells nothing of who lives. */
static enum rules_class class_of(const struct ptl_descriptor *descriptor)
{
	const struct ptl_guid *provider = &descriptor->provider;

	if (common_guid_equal(provider, &PTL_PROVIDER_PROCESS))
		return RULES_CLASS_PROCESS;
	if (common_guid_equal(provider, &PTL_PROVIDER_THREAD))
		return descriptor->opcode == PTL_OPCODE_CONTEXT_SWITCH ? RULES_CLASS_OTHER : RULES_CLASS_THREAD;
	if (common_guid_equal(provider, &PTL_PROVIDER_IMAGE))
		return RULES_CLASS_IMAGE;
	return common_guid_equal(provider, &PTL_PROVIDER_CODE) ? RULES_CLASS_CODE : RULES_CLASS_OTHER;
}

static int bind_rules(const struct rules_run *run, struct rules_kind *kind)
{
	size_t count = 0;

	for (const struct rules_rule *rule = run->rules->rules; rule; rule = rule->next)
		count += may_match(rule, kind->trace, &kind->descriptor);
	kind->bound = rules_alloc(&kind->arena, count * sizeof(*kind->bound) + 1);
	if (!kind->bound)
		return PTL_NO_MEMORY;
	for (const struct rules_rule *rule = run->rules->rules; rule; rule = rule->next) {
		struct rules_bound *bound = &kind->bound[kind->bound_count];

		if (!may_match(rule, kind->trace, &kind->descriptor))
			continue;
		bound->rule = rule;
		bound->fields = rules_alloc(&kind->arena, rule->field_count * sizeof(*bound->fields) + 1);
		if (!bound->fields)
			return PTL_NO_MEMORY;
		if (locate_all(kind->schema, bound))
			kind->bound_count++;
		else
			*bound = (struct rules_bound){0};
	}
	return 0;
}

static void free_kind(struct rules_kind *kind)
{
	rules_arena_free(&kind->arena);
	free(kind);
}

void rules_kinds_free(struct rules_run *run)
{
	for (size_t i = 0; i < run->kind_count; i++)
		free_kind(run->kinds[i]);
	free(run->kinds);
	common_byte_map_free(&run->kind_map);
	run->kinds = NULL;
	run->kind_count = 0;
	memset(run->memo, 0, sizeof(run->memo));
}

struct kind_key {
	struct ptl_descriptor descriptor;
	struct ptl_trace *trace;
};

static int add_kind(struct rules_run *run, const struct kind_key *key, struct rules_kind **result)
{
	struct rules_kind *kind = calloc(1, sizeof(*kind)), **kinds;
	int status;

	if (!kind)
		return common_fail_memory("rules", sizeof(*kind));
	kind->descriptor = key->descriptor;
	kind->trace = key->trace;
	kind->schema = rules_schema_of(run, key->trace, &key->descriptor);
	kind->class = class_of(&key->descriptor);
	status = bind_rules(run, kind);
	kinds = status ? NULL : realloc(run->kinds, (run->kind_count + 1) * sizeof(struct rules_kind *));
	if (!status && !kinds)
		status = common_fail_memory("rules", run->kind_count);
	if (kinds)
		run->kinds = kinds;
	if (!status)
		status = common_byte_map_put(&run->kind_map, key, sizeof(*key), run->kind_count);
	if (status < 0) {
		free_kind(kind);
		return status;
	}
	run->kinds[run->kind_count++] = kind;
	*result = kind;
	return 0;
}

static unsigned memo_index(const struct ptl_descriptor *descriptor)
{
	uint64_t low;

	memcpy(&low, descriptor->provider.bytes, sizeof(low));
	low ^= (uint64_t)descriptor->id << 32 ^ (uint64_t)descriptor->opcode << 8 ^ descriptor->level ^
	       descriptor->version;
	return (unsigned)(low * 0x9e3779b97f4a7c15u >> 58);
}

int rules_kind_of(struct rules_run *run, struct ptl_trace *trace, const struct ptl_descriptor *descriptor,
		  struct rules_kind **kind)
{
	struct rules_kind **memo = &run->memo[memo_index(descriptor) % RULES_MEMO];
	struct kind_key key = {*descriptor, trace};
	const uint64_t *known;
	int status;

	if (*memo && (*memo)->trace == trace && !memcmp(&(*memo)->descriptor, descriptor, sizeof(*descriptor))) {
		*kind = *memo;
		return 0;
	}
	known = common_byte_map_get(&run->kind_map, &key, sizeof(key));
	if (known) {
		*kind = *memo = run->kinds[*known];
		return 0;
	}
	status = add_kind(run, &key, kind);
	if (!status)
		*memo = *kind;
	return status;
}

void rules_kinds_limit(struct rules_run *run)
{
	if (run->kind_count >= KINDS_MAX || run->forget_kinds)
		rules_kinds_free(run);
	run->forget_kinds = false;
}
