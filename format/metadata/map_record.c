/* SPDX-License-Identifier: BSD-2-Clause */
/* Encoder and decoder of the map record: a provider's names for numbers. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/partition.h"
#include "format/metadata/fields.h"
#include "format/container/layout.h"
#include "format/metadata/metadata.h"
#include "common/vector.h"

enum tag { TAG_PROVIDER = 1, TAG_KIND, TAG_NAME, TAG_ENTRY };
enum entry_tag { TAG_VALUE = 1, TAG_ENTRY_NAME };

void format_map_encode(const struct ptl_map *map, struct ptl_bytes *out)
{
	format_field_bytes(out, TAG_PROVIDER, map->provider.bytes, sizeof(map->provider.bytes));
	format_field_number(out, TAG_KIND, map->kind);
	format_field_cut(out, TAG_NAME, map->name, FORMAT_NAME_MAX);
	for (size_t i = 0; i < map->count; i++) {
		struct ptl_bytes body = {0};

		format_field_number(&body, TAG_VALUE, map->entries[i].value);
		format_field_cut(&body, TAG_ENTRY_NAME, map->entries[i].name, FORMAT_NAME_MAX);
		out->failed |= body.failed;
		format_field_bytes(out, TAG_ENTRY, body.data, body.size);
		common_bytes_free(&body);
	}
}

static struct ptl_map_entry *entries_of(const struct ptl_map *map)
{
	return (struct ptl_map_entry *)map->entries;
}

static void decode_entry(struct common_cursor body, struct ptl_map *map, bool *failed)
{
	struct ptl_map_entry *entries = entries_of(map), *entry;
	struct format_tagged tagged;
	int status;

	if (map->count == FORMAT_RECORD_ITEMS_MAX || !common_vector_room(&entries, map->count, sizeof(*entries))) {
		*failed = true;
		return;
	}
	map->entries = entries;
	entry = &entries[map->count++];
	*entry = (struct ptl_map_entry){.name = FORMAT_NO_TEXT};
	while (!*failed && (status = format_next_field(&body, &tagged)) != 0) {
		*failed = status < 0;
		if (*failed)
			break;
		if (tagged.tag == TAG_VALUE)
			entry->value = format_take_number(&tagged, UINT64_MAX, failed);
		else if (tagged.tag == TAG_ENTRY_NAME)
			format_take_bounded(&tagged, FORMAT_NAME_MAX, &entry->name, failed);
	}
}

static void decode_tag(const struct format_tagged *tagged, struct ptl_map *map, bool *have_provider, bool *failed)
{
	switch (tagged->tag) {
	case TAG_PROVIDER:
		*have_provider = tagged->size == sizeof(map->provider.bytes);
		*failed = !*have_provider;
		if (*have_provider)
			memcpy(map->provider.bytes, tagged->data, sizeof(map->provider.bytes));
		break;
	case TAG_KIND:
		map->kind = (uint32_t)format_take_number(tagged, UINT32_MAX, failed);
		break;
	case TAG_NAME:
		format_take_bounded(tagged, FORMAT_NAME_MAX, &map->name, failed);
		break;
	case TAG_ENTRY:
		decode_entry(common_cursor(tagged->data, tagged->size), map, failed);
		break;
	}
}

int format_map_decode(struct common_cursor body, struct ptl_map **map)
{
	struct ptl_map *result = calloc(1, sizeof(*result));
	bool have_provider = false, failed = false;
	struct format_tagged tagged;
	int status;

	if (!result)
		return common_fail_memory("a map", sizeof(*result));
	result->name = FORMAT_NO_TEXT;
	while ((status = format_next_field(&body, &tagged)) > 0) {
		decode_tag(&tagged, result, &have_provider, &failed);
		if (failed) {
			status = common_fail(PTL_CORRUPT, "field %llu of a map record", (unsigned long long)tagged.tag);
			break;
		}
	}
	if (!status && !have_provider)
		status = common_fail(PTL_CORRUPT, "a map record without a provider");
	if (status < 0)
		format_map_free(result);
	else
		*map = result;
	return status;
}

void format_map_free(struct ptl_map *map)
{
	if (!map)
		return;
	for (size_t i = 0; i < map->count; i++)
		format_text_free(map->entries[i].name);
	free((void *)map->entries);
	format_text_free(map->name);
	free(map);
}

int format_map_append(struct ptl_map *map, struct ptl_map *from)
{
	const size_t before = map->count;

	for (size_t i = 0; i < from->count; i++) {
		struct ptl_map_entry *entries = entries_of(map);

		if (!common_vector_room(&entries, map->count, sizeof(*entries))) {
			map->count = before;
			return common_fail_memory("a map", map->count * sizeof(*entries));
		}
		map->entries = entries;
		entries[map->count++] = from->entries[i];
	}
	from->count = 0; /* `map` now owns the names */
	format_map_free(from);
	return 0;
}

/* Compares by value, then by position, so that the first of equal values comes first. */
static int by_value(const void *a, const void *b)
{
	const struct ptl_map_entry *left = *(const struct ptl_map_entry *const *)a;
	const struct ptl_map_entry *right = *(const struct ptl_map_entry *const *)b;

	if (left->value != right->value)
		return left->value < right->value ? -1 : 1;
	return left < right ? -1 : left > right;
}

int format_map_sort(struct ptl_map *map)
{
	const struct ptl_map_entry **order = calloc(map->count + 1, sizeof(*order));
	struct ptl_map_entry *sorted = calloc(map->count + 1, sizeof(*sorted));
	size_t count = 0;

	if (!order || !sorted) {
		free(order);
		free(sorted);
		return common_fail_memory("a map", map->count * sizeof(*sorted));
	}
	for (size_t i = 0; i < map->count; i++)
		order[i] = &map->entries[i];
	qsort(order, map->count, sizeof(*order), by_value);
	for (size_t i = 0; i < map->count; i++) {
		if (count && sorted[count - 1].value == order[i]->value)
			format_text_free(order[i]->name);
		else
			sorted[count++] = *order[i];
	}
	free((void *)map->entries);
	free(order);
	map->entries = sorted;
	map->count = count;
	return 0;
}

const char *ptl_map_name(const struct ptl_map *map, uint64_t value)
{
	const size_t count = map ? map->count : 0;
	const size_t low = COMMON_PARTITION(count, at, map->entries[at].value < value);

	return low < count && map->entries[low].value == value ? map->entries[low].name : NULL;
}
