/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds addresses in the address filter's ranges. */
#include "flow/code/filter.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"
#include "format/metadata/pt_filter.h"

struct entry {
	struct format_pt_filter filter; /* path belongs to the trace */
	uint32_t machine;
	bool placed; /* the filter's file is mapped, or the filter has no file */
};

struct flow_filter {
	const struct flow_timeline *timeline;
	struct entry *entries;
	size_t count;
};

static bool is_of_image(const struct flow_filter *filter, uint32_t image, const char *path)
{
	return image != FLOW_NONE && !strcmp(flow_timeline_image(filter->timeline, image)->data.file_name, path);
}

static void place_entry(struct flow_filter *filter, struct entry *entry)
{
	const size_t images = flow_timeline_image_count(filter->timeline);

	entry->placed = !entry->filter.path_size;
	for (size_t i = 0; !entry->placed && i < images; i++)
		entry->placed = is_of_image(filter, (uint32_t)i, entry->filter.path);
}

static int read_entries(const struct ptl_trace *trace, struct flow_filter *filter)
{
	const size_t count = ptl_attachment_count(trace);

	for (size_t i = 0; i < count; i++) {
		const struct ptl_attachment *attachment = ptl_attachment_at(trace, i);
		struct entry entry = {.machine = attachment->pid / PTL_MACHINE_IDS};

		if (attachment->pid == PTL_NO_ID || !format_pt_filter_of(attachment, &entry.filter))
			continue;
		if (!common_vector_room(&filter->entries, filter->count, sizeof(entry)))
			return common_fail_memory("address filters", (filter->count + 1) * sizeof(entry));
		place_entry(filter, &entry);
		filter->entries[filter->count++] = entry;
	}
	return 0;
}

/* Checks whether all filters of a machine are placed. */
static bool is_placed(const struct flow_filter *filter, uint32_t machine)
{
	for (size_t i = 0; i < filter->count; i++)
		if (filter->entries[i].machine == machine && !filter->entries[i].placed)
			return false;
	return true;
}

static void drop_unplaced(struct flow_filter *filter)
{
	size_t kept = 0;

	for (size_t i = 0; i < filter->count; i++)
		filter->entries[i].placed = is_placed(filter, filter->entries[i].machine);
	for (size_t i = 0; i < filter->count; i++)
		if (filter->entries[i].placed)
			filter->entries[kept++] = filter->entries[i];
	filter->count = kept;
}

int flow_filter_open(const struct ptl_trace *trace, const struct flow_timeline *timeline, struct flow_filter **filter)
{
	struct flow_filter *opened = calloc(1, sizeof(*opened));
	int status;

	*filter = NULL;
	if (!opened)
		return common_fail_memory("address filters", sizeof(*opened));
	opened->timeline = timeline;
	status = read_entries(trace, opened);
	if (!status)
		drop_unplaced(opened);
	if (status || !opened->count) {
		flow_filter_close(opened);
		return status;
	}
	*filter = opened;
	return 0;
}

void flow_filter_close(struct flow_filter *filter)
{
	if (!filter)
		return;
	free(filter->entries);
	free(filter);
}

bool flow_filter_is_there(const struct flow_filter *filter, uint32_t machine)
{
	for (size_t i = 0; filter && i < filter->count; i++)
		if (filter->entries[i].machine == machine)
			return true;
	return false;
}

/* Checks whether ip, in the image, is in the filter's range. */
static bool covers(const struct flow_filter *filter, const struct entry *entry, uint32_t image, uint64_t ip)
{
	const struct ptl_image_event *data;

	if (!entry->filter.path_size)
		return ip - entry->filter.first < entry->filter.size;
	if (!is_of_image(filter, image, entry->filter.path))
		return false;
	data = &flow_timeline_image(filter->timeline, image)->data;
	return ip - data->base + data->file_offset - entry->filter.first < entry->filter.size;
}

bool flow_filter_passes(const struct flow_filter *filter, uint32_t machine, uint32_t image, uint64_t ip)
{
	bool ranges = false, within = false;

	for (size_t i = 0; i < filter->count; i++) {
		const struct entry *entry = &filter->entries[i];
		const bool stops = entry->filter.action == FORMAT_PT_FILTER_STOP;

		if (entry->machine != machine)
			continue;
		ranges |= !stops;
		if (!covers(filter, entry, image, ip))
			continue;
		if (stops)
			return false;
		within = true;
	}
	return within || !ranges;
}

/* ---- ranges of addresses ----------------------------------------------------------------------------------- */

struct ranges {
	struct flow_filter_range *list;
	size_t count;
};

static void add_range(struct ranges *ranges, uint64_t first, uint64_t last, bool stop)
{
	struct flow_filter_range *before = ranges->count && ranges->count <= FLOW_FILTER_RANGES
						   ? &ranges->list[ranges->count - 1]
						   : NULL;

	if (before && before->stop == stop && before->last + 1 == first) {
		before->last = last;
		return;
	}
	if (ranges->count < FLOW_FILTER_RANGES)
		ranges->list[ranges->count] = (struct flow_filter_range){first, last, stop};
	ranges->count++;
}

/* Adds the intersection of the piece and the filter's range. */
static void add_piece(const struct flow_filter *filter, const struct entry *entry, const struct format_piece *piece,
		      struct ranges *ranges)
{
	const struct ptl_image_event *data;
	uint64_t first, end, low, high;

	if (!is_of_image(filter, piece->image, entry->filter.path))
		return;
	data = &flow_timeline_image(filter->timeline, piece->image)->data;
	first = piece->first - data->base + data->file_offset;
	end = first + (piece->last - piece->first) + 1;
	low = entry->filter.first > first ? entry->filter.first : first;
	high = entry->filter.size < end - entry->filter.first ? entry->filter.first + entry->filter.size : end;
	if (end > first && low < high && entry->filter.first < end)
		add_range(ranges, piece->first + (low - first), piece->first + (high - first) - 1,
			  entry->filter.action == FORMAT_PT_FILTER_STOP);
}

static void add_entry(const struct flow_filter *filter, const struct entry *entry, flow_root root,
		      struct ranges *ranges)
{
	struct format_piece piece;
	uint64_t at = 0;

	if (!entry->filter.path_size) {
		add_range(ranges, entry->filter.first, entry->filter.first + entry->filter.size - 1,
			  entry->filter.action == FORMAT_PT_FILTER_STOP);
		return;
	}
	while (flow_version_next(filter->timeline, root, at, &piece)) {
		add_piece(filter, entry, &piece, ranges);
		if (piece.last == UINT64_MAX)
			break;
		at = piece.last + 1;
	}
}

size_t flow_filter_ranges(const struct flow_filter *filter, uint32_t machine, flow_root root,
			  struct flow_filter_range *list)
{
	struct ranges ranges = {.list = list};

	for (size_t i = 0; i < filter->count; i++)
		if (filter->entries[i].machine == machine)
			add_entry(filter, &filter->entries[i], root, &ranges);
	return ranges.count;
}
