/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks up value names in the maps of schemas. */
#include "query/value_names.h"

#include <string.h>

/* Returns the map of a field's values. NULL: no field, or no names. */
static const struct ptl_map *map_of(const struct query_scope *scope, const struct query_expr *expr)
{
	const struct ptl_map *map = expr->op == QUERY_FIELD && scope->map ? scope->map(scope->context, expr->index)
									  : NULL;

	return map && (map->kind == PTL_MAP_VALUES || map->kind == PTL_MAP_FLAGS) && map->count ? map : NULL;
}

const struct ptl_map_entry *query_next_named(const struct ptl_map *map, size_t *at, const char *name, size_t size)
{
	while (*at < map->count) {
		const struct ptl_map_entry *entry = &map->entries[(*at)++];

		if (strlen(entry->name) == size && memcmp(entry->name, name, size) == 0)
			return entry;
	}
	return NULL;
}

/* Replaces a name by its number; for flags, several names by the combined number: "Read|Write". */
static int take_number(const struct query_scope *scope, const struct query_expr *expr, const struct ptl_map *map,
		       struct query_value *value)
{
	uint64_t number = 0;

	for (size_t at = 0, size; at <= value->size; at += size + 1) {
		const char *name = value->text + at, *bar = NULL;
		const struct ptl_map_entry *entry;
		size_t from = 0;

		if (map->kind == PTL_MAP_FLAGS && at < value->size)
			bar = memchr(name, '|', value->size - at);
		size = bar ? (size_t)(bar - name) : value->size - at;
		entry = query_next_named(map, &from, name, size);
		if (!entry)
			return query_fail_at(scope->name, expr->at, "expected a name such as \"%.80s\", found \"%.*s\"",
					     map->entries[0].name, size < 80 ? (int)size : 80, name);
		number |= entry->value;
	}
	*value = (struct query_value){.kind = QUERY_VALUE_NUMBER, .number = number};
	return 0;
}

/* Replaces a number by its name; "" for a number without a name. */
static void take_name(const struct ptl_map *map, struct query_value *value)
{
	const char *name = ptl_map_name(map, (uint64_t)value->number);

	*value = (struct query_value){.kind = QUERY_VALUE_TEXT, .text = name ? name : ""};
	value->size = strlen(value->text);
}

int query_name_values(const struct query_scope *scope, const struct query_expr *expr, struct query_value *a,
		      struct query_value *b)
{
	const bool is_first = a->kind == QUERY_VALUE_NUMBER;
	struct query_value *number = is_first ? a : b, *text = is_first ? b : a;
	const struct ptl_map *map = map_of(scope, expr->argument[is_first ? 0 : 1]);

	if (!map)
		return 0;
	if (expr->op == QUERY_LIKE && is_first && map->kind == PTL_MAP_VALUES) {
		take_name(map, number);
		return 0;
	}
	if (expr->op != QUERY_EQUAL && expr->op != QUERY_UNEQUAL && expr->op != QUERY_BIT_AND)
		return 0;
	/* Maps hold values of signed fields as 64-bit numbers. */
	number->number = (uint64_t)number->number;
	return take_number(scope, expr->argument[is_first ? 1 : 0], map, text);
}
