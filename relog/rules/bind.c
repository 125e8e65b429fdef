/* SPDX-License-Identifier: BSD-2-Clause */
/* Determines, once for each kind of event, the rules that may match and the locations of their fields. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/hash.h"
#include "common/text/guid.h"
#include "common/vector.h"
#include "relog/rules/run_state.h"

#define KINDS_MAX 16384u /* limit of cached kinds; then the cache is emptied, because descriptors may be arbitrary */

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

/* ---- fields ------------------------------------------------------------------------------ */

static bool locate_all(const struct ptl_schema *schema, struct rules_bound *bound)
{
	for (size_t i = 0; i < bound->rule->fields.count; i++) {
		query_locate(schema, &bound->rule->fields.list[i], &bound->fields[i]);
		if (!bound->fields[i].field && bound->rule->fields.list[i].condition)
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

/* A context switch does not change processes: treat it as FORMAT_CLASS_NONE. */
static enum format_class class_of(const struct ptl_descriptor *descriptor)
{
	const enum format_class class = format_class_of(descriptor);

	return class == FORMAT_CLASS_SWITCH ? FORMAT_CLASS_NONE : class;
}

static int bind_rules(const struct rules_run *run, struct rules_kind *kind)
{
	size_t count = 0;

	for (const struct rules_rule *rule = run->rules->rules; rule; rule = rule->next)
		count += may_match(rule, kind->trace, &kind->descriptor);
	kind->bound = common_arena_zeroed(&kind->arena, count * sizeof(*kind->bound) + 1);
	if (!kind->bound)
		return PTL_NO_MEMORY;
	for (const struct rules_rule *rule = run->rules->rules; rule; rule = rule->next) {
		struct rules_bound *bound = &kind->bound[kind->bound_count];

		if (!may_match(rule, kind->trace, &kind->descriptor))
			continue;
		bound->rule = rule;
		bound->fields = common_arena_zeroed(&kind->arena, rule->fields.count * sizeof(*bound->fields) + 1);
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
	common_arena_free(&kind->arena);
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
	uint64_t raw; /* 1: no schema applies; 64 bits wide, so that the key has no padding */
};

static int add_kind(struct rules_run *run, const struct kind_key *key, struct rules_kind **result)
{
	struct rules_kind *kind = calloc(1, sizeof(*kind));
	int status;

	if (!kind)
		return common_fail_memory("rules", sizeof(*kind));
	kind->descriptor = key->descriptor;
	kind->trace = key->trace;
	kind->raw = key->raw;
	kind->schema = key->raw ? NULL : rules_schema_of(run, key->trace, &key->descriptor);
	kind->class = key->raw ? FORMAT_CLASS_NONE : class_of(&key->descriptor);
	status = bind_rules(run, kind);
	if (!status && !common_vector_room(&run->kinds, run->kind_count, sizeof(struct rules_kind *)))
		status = common_fail_memory("rules", (run->kind_count + 1) * sizeof(struct rules_kind *));
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
	return (unsigned)common_hash_high(low, 6);
}

int rules_kind_of(struct rules_run *run, struct ptl_trace *trace, const struct ptl_event *event,
		  struct rules_kind **kind)
{
	const struct ptl_descriptor *descriptor = &event->descriptor;
	struct rules_kind **memo = &run->memo[memo_index(descriptor) % RULES_MEMO];
	const bool raw = ptl_event_is_raw(event);
	struct kind_key key = {*descriptor, trace, raw};
	const uint64_t *known;
	int status;

	if (*memo && (*memo)->trace == trace && (*memo)->raw == raw &&
	    !memcmp(&(*memo)->descriptor, descriptor, sizeof(*descriptor))) {
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
