/* SPDX-License-Identifier: BSD-2-Clause */
/* Filters of ptl-dump events. */
#include "analysis/event/event_filter.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/error.h"
#include "common/program/options.h"
#include "common/text/guid.h"
#include "common/text/text.h"
#include "common/vector.h"

void analysis_event_filter_free(struct analysis_event_filter *filter)
{
	free(filter->providers.list);
	free(filter->events.list);
	free(filter->tasks.list);
	free(filter->opcodes.list);
	free(filter->keywords.list);
	analysis_activities_free(&filter->activities);
	analysis_query_free(&filter->where);
	common_byte_map_free(&filter->masks);
	common_byte_map_free(&filter->levels);
}

/* ---- patterns of the user -------------------------------------------------------------------------- */

/* Returns NULL after an error, with the reason in the chain. */
static struct analysis_event_pattern *add_pattern(struct analysis_event_patterns *patterns, const char *text)
{
	if (!common_vector_room(&patterns->list, patterns->count, sizeof(*patterns->list))) {
		common_fail_memory("patterns", (patterns->count + 1) * sizeof(*patterns->list));
		return NULL;
	}
	patterns->list[patterns->count] = (struct analysis_event_pattern){.text = text};
	return &patterns->list[patterns->count++];
}

int analysis_event_patterns_take(void *patterns, const char *text)
{
	struct analysis_event_pattern *added = add_pattern(patterns, text);

	if (!added)
		return PTL_NO_MEMORY;
	added->has_number = *text >= '0' && *text <= '9';
	return added->has_number ? common_parse_u64(text, &added->number) : 0;
}

int analysis_event_providers_take(void *patterns, const char *text)
{
	struct analysis_event_pattern *added = add_pattern(patterns, text);

	if (!added)
		return PTL_NO_MEMORY;
	added->has_guid = common_guid_parse(text, &added->guid);
	return 0;
}

int analysis_event_level_take(void *filter_level, const char *text)
{
	uint64_t number;

	for (uint8_t level = 1; analysis_level_name(level); level++) {
		const bool other = level == 4 &&
				   (strcasecmp(text, "info") == 0 || strcasecmp(text, "information") == 0);

		if (other || strcasecmp(text, analysis_level_name(level)) == 0) {
			*(uint64_t *)filter_level = level;
			return 0;
		}
	}
	if (common_parse_u64(text, &number) < 0 || number > UINT8_MAX)
		return common_fail(PTL_MISUSE,
				   "'%s' is no level: critical (1), error (2), warning (3), "
				   "informational (4), verbose (5) or a number to 255",
				   text);
	*(uint64_t *)filter_level = number;
	return 0;
}

/* ---- selection ------------------------------------------------------------------------------------- */

static bool name_matches(const struct analysis_event_pattern *pattern, const char *name)
{
	return name && fnmatch(pattern->text, name, FNM_CASEFOLD) == 0;
}

static bool wants_provider(struct analysis_event_filter *filter, const struct analysis_names *names,
			   const struct ptl_guid *provider, const struct ptl_schema *schema)
{
	const char *name = schema && *schema->provider_name ? schema->provider_name
							    : analysis_names_provider(names, provider);

	for (size_t i = 0; i < filter->providers.count; i++) {
		struct analysis_event_pattern *pattern = &filter->providers.list[i];

		if (pattern->has_guid ? common_guid_equal(&pattern->guid, provider) : name_matches(pattern, name)) {
			pattern->matched = true;
			return true;
		}
	}
	return !filter->providers.count;
}

static bool wants_event(const struct analysis_event_filter *filter, const struct analysis_names *names,
			const struct ptl_descriptor *descriptor, const struct ptl_schema *schema)
{
	struct ptl_bytes name = {0}, short_name = {0};
	bool wanted = !filter->events.count;

	for (size_t i = 0; i < filter->events.count && !wanted; i++) {
		const struct analysis_event_pattern *pattern = &filter->events.list[i];

		if (pattern->has_number) {
			wanted = pattern->number == descriptor->id;
			continue;
		}
		if (!name.size) {
			analysis_text_full_name(&name, names, descriptor, schema);
			analysis_text_event_name(&short_name, names, descriptor, schema);
		}
		wanted = name_matches(pattern, schema ? schema->event_name : NULL) ||
			 name_matches(pattern, common_text_string(&short_name)) ||
			 name_matches(pattern, common_text_string(&name));
	}
	common_bytes_free(&name);
	common_bytes_free(&short_name);
	return wanted;
}

static bool wants_number(const struct analysis_event_patterns *patterns, uint64_t number, const char *name)
{
	for (size_t i = 0; i < patterns->count; i++) {
		const struct analysis_event_pattern *pattern = &patterns->list[i];

		if (pattern->has_number ? pattern->number == number : name_matches(pattern, name))
			return true;
	}
	return !patterns->count;
}

/* Returns the keyword bits of the patterns. Names of keywords are the provider's. */
static uint64_t find_mask(struct analysis_event_filter *filter, const struct analysis_names *names,
			  const struct ptl_guid *provider)
{
	const struct ptl_map *map = ptl_map_find(names->trace, provider, PTL_MAP_KEYWORDS, "");
	uint64_t mask = 0;

	for (size_t i = 0; i < filter->keywords.count; i++) {
		struct analysis_event_pattern *pattern = &filter->keywords.list[i];

		if (pattern->has_number)
			mask |= pattern->number;
		for (size_t k = 0; map && !pattern->has_number && k < map->count; k++)
			if (name_matches(pattern, map->entries[k].name)) {
				pattern->matched = true;
				mask |= map->entries[k].value;
			}
	}
	return mask;
}

static bool wants_keyword(struct analysis_event_filter *filter, const struct analysis_names *names,
			  const struct ptl_descriptor *descriptor)
{
	const uint8_t *guid = descriptor->provider.bytes;
	const uint64_t *known;
	uint64_t mask;

	if (!filter->keywords.count)
		return true;
	filter->keyword_bits |= descriptor->keyword;
	known = common_byte_map_get(&filter->masks, guid, 16);
	if (known)
		return (*known & descriptor->keyword) != 0;
	mask = find_mask(filter, names, &descriptor->provider);
	/* Without memory for the cache, the mask is computed again for the next event. */
	(void)common_byte_map_put(&filter->masks, guid, 16, mask);
	return (mask & descriptor->keyword) != 0;
}

/* Whether the provider's events have levels: true if a schema has a level, or if no schema is known. */
static bool gives_levels(const struct ptl_trace *trace, const struct ptl_guid *provider)
{
	bool known = false;

	for (size_t i = 0; i < ptl_schema_count(trace); i++) {
		const struct ptl_schema *schema = ptl_schema_at(trace, i);

		if (!common_guid_equal(&schema->provider, provider))
			continue;
		if (schema->level)
			return true;
		known = true;
	}
	return !known;
}

static bool wants_level(struct analysis_event_filter *filter, const struct ptl_trace *trace,
			const struct ptl_descriptor *descriptor)
{
	const uint8_t *guid = descriptor->provider.bytes;
	const uint64_t *known;
	bool gives;

	if (!filter->level || descriptor->level)
		return !filter->level || descriptor->level <= filter->level;
	known = common_byte_map_get(&filter->levels, guid, 16);
	gives = known ? *known != 0 : gives_levels(trace, &descriptor->provider);
	/* Without memory for the cache, the answer is computed again for the next event. */
	if (!known)
		(void)common_byte_map_put(&filter->levels, guid, 16, gives);
	filter->without_level += !gives;
	return gives;
}

bool analysis_event_filter_wants(struct analysis_event_filter *filter, struct analysis_values *values,
				 const struct ptl_event *event, const struct ptl_schema *schema)
{
	const struct ptl_descriptor *descriptor = &event->descriptor;
	const struct analysis_names *names = values->names;

	if (!wants_provider(filter, names, &descriptor->provider, schema) ||
	    !wants_keyword(filter, names, descriptor) || !wants_event(filter, names, descriptor, schema) ||
	    !wants_level(filter, names->trace, descriptor))
		return false;
	if (filter->tasks.count &&
	    !wants_number(&filter->tasks, descriptor->task, analysis_names_task(names, descriptor, schema)))
		return false;
	if (filter->opcodes.count &&
	    !wants_number(&filter->opcodes, descriptor->opcode, analysis_names_opcode(names, descriptor, schema)))
		return false;
	if (filter->activities.selected_count && !analysis_activities_want(&filter->activities, event))
		return false;
	return analysis_query_matches(&filter->where, values, event, schema);
}
