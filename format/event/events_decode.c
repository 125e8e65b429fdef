/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes and checks the payload of an EVENTS buffer. */
#include "format/event/events.h"

#include <stdlib.h>

#include "common/error.h"
#include "format/event/planes.h"

struct format_block_row {
	uint64_t time;
	const uint8_t *payload;
	uint32_t size;
	uint32_t descriptor;
	uint32_t context;
};

/* Data for decoding a descriptor's payloads, besides the descriptor's value. */
struct format_block_layout {
	uint64_t size_plus_one; /* 0: sizes vary */
	size_t events;
	struct common_cursor sizes;
	const uint8_t *payload;
};

static int corrupt(const char *what)
{
	return common_fail(PTL_CORRUPT, "events: %s", what);
}

/* Ensures at least `size` bytes of memory. The content is not preserved. */
static void *reserve_block_memory(struct format_block_memory *memory, size_t size)
{
	if (size > memory->size || !memory->data) {
		free(memory->data);
		memory->size = size;
		memory->data = malloc(size ? size : 1);
	}
	return memory->data;
}

/* Reads a count. Returns false if the remaining bytes cannot hold this many elements of at least `least` bytes. */
static bool read_count(struct common_cursor *in, size_t least, size_t *count)
{
	const uint64_t value = common_read_varint(in);

	*count = value;
	return !in->failed && value <= common_cursor_left(in) / least;
}

static bool read_below(struct common_cursor *in, uint64_t limit, uint64_t *value)
{
	*value = common_read_varint(in);
	return !in->failed && *value < limit;
}

static int decode_guids(struct format_event_block *block, struct common_cursor *in)
{
	if (!read_count(in, 16, &block->guid_count))
		return corrupt("the GUIDs do not fit");
	block->guids = common_read_bytes(in, block->guid_count * 16);
	return 0;
}

static bool decode_descriptor(struct format_event_block *block, struct common_cursor *in,
			      struct ptl_descriptor *descriptor, struct format_block_layout *layout)
{
	uint64_t provider, id, task;

	if (!read_below(in, block->guid_count, &provider) || !read_below(in, 1u << 16, &id))
		return false;
	memcpy(descriptor->provider.bytes, block->guids + provider * 16, 16);
	descriptor->id = (uint16_t)id;
	descriptor->version = common_read8(in);
	descriptor->channel = common_read8(in);
	descriptor->level = common_read8(in);
	descriptor->opcode = common_read8(in);
	if (!read_below(in, 1u << 16, &task))
		return false;
	descriptor->task = (uint16_t)task;
	descriptor->keyword = common_read_varint(in);
	return read_below(in, (uint64_t)PTL_PAYLOAD_MAX + 2, &layout->size_plus_one);
}

static int decode_descriptors(struct format_event_block *block, struct common_cursor *in, size_t *count)
{
	if (!read_count(in, 9, count) || !*count)
		return corrupt("the descriptors do not fit");
	block->descriptors = reserve_block_memory(&block->descriptor_memory, *count * sizeof(*block->descriptors));
	block->layouts = reserve_block_memory(&block->layout_memory, *count * sizeof(*block->layouts));
	if (!block->descriptors || !block->layouts)
		return common_fail_memory("event descriptors", *count * sizeof(*block->layouts));
	for (size_t i = 0; i < *count; i++) {
		block->layouts[i] = (struct format_block_layout){0};
		if (!decode_descriptor(block, in, &block->descriptors[i], &block->layouts[i]))
			return corrupt("a descriptor is out of bounds");
	}
	return 0;
}

static int decode_contexts(struct format_event_block *block, struct common_cursor *in, size_t *count)
{
	if (!read_count(in, 3, count) || !*count)
		return corrupt("the contexts do not fit");
	block->contexts = reserve_block_memory(&block->context_memory, *count * sizeof(*block->contexts));
	if (!block->contexts)
		return common_fail_memory("event contexts", *count * sizeof(*block->contexts));
	for (size_t i = 0; i < *count; i++) {
		uint64_t cpu, pid, tid;

		if (!read_below(in, 1ull << 32, &cpu) || !read_below(in, 1ull << 32, &pid) ||
		    !read_below(in, 1ull << 32, &tid))
			return corrupt("a context is out of bounds");
		block->contexts[i] = (struct format_event_context){(uint32_t)(cpu - 1), (uint32_t)(pid - 1),
								   (uint32_t)(tid - 1)};
	}
	return 0;
}

/* Returns number i of a column. With a constant width, the compiler makes a separate loop for each width. */
static inline __attribute__((always_inline)) uint64_t number_at(const uint8_t *planes, size_t count, unsigned width,
								size_t i)
{
	uint64_t value = 0;

	for (unsigned k = 0; k < width; k++)
		value |= (uint64_t)planes[k * count + i] << 8 * k;
	return value;
}

static inline __attribute__((always_inline)) bool fill_column(struct format_event_block *block, const uint8_t *planes,
							      unsigned width, size_t limit, bool contexts)
{
	bool fits = true;

	for (size_t i = 0; i < block->count; i++) {
		const uint32_t value = (uint32_t)number_at(planes, block->count, width, i);

		fits &= value < limit;
		*(contexts ? &block->rows[i].context : &block->rows[i].descriptor) = value;
	}
	return fits;
}

/* Decodes a column of numbers below `limit`. */
static int decode_column(struct format_event_block *block, struct common_cursor *in, size_t limit, bool contexts)
{
	const unsigned width = format_column_width(limit);
	const uint8_t *planes = common_read_bytes(in, width * block->count);
	bool fits;

	if (!planes)
		return corrupt("a column does not fit");
	switch (width) {
	case 0:
		fits = fill_column(block, planes, 0, limit, contexts);
		break;
	case 1:
		fits = fill_column(block, planes, 1, limit, contexts);
		break;
	default:
		fits = fill_column(block, planes, width, limit, contexts);
	}
	return fits ? 0 : corrupt("a column holds a number that is out of bounds");
}

static inline __attribute__((always_inline)) bool fill_times(struct format_event_block *block, const uint8_t *planes,
							     unsigned width, uint64_t first_time, uint64_t last_time)
{
	uint64_t time = first_time;
	bool fits = true;

	for (size_t i = 0; i < block->count; i++) {
		time += (uint64_t)common_unzigzag(number_at(planes, block->count, width, i));
		fits &= time >= first_time && time <= last_time;
		block->rows[i].time = time;
	}
	return fits;
}

static int decode_times(struct format_event_block *block, struct common_cursor *in, unsigned width, uint64_t first_time,
			uint64_t last_time)
{
	const uint8_t *planes = common_read_bytes(in, width * block->count);
	bool fits;

	if (!planes)
		return corrupt("the times do not fit");
	switch (width) {
	case 1:
		fits = fill_times(block, planes, 1, first_time, last_time);
		break;
	case 2:
		fits = fill_times(block, planes, 2, first_time, last_time);
		break;
	case 3:
		fits = fill_times(block, planes, 3, first_time, last_time);
		break;
	case 4:
		fits = fill_times(block, planes, 4, first_time, last_time);
		break;
	default:
		fits = fill_times(block, planes, width, first_time, last_time);
	}
	return fits ? 0 : corrupt("a time is outside of the buffer's");
}

/* Converts planes to rows. */
static void transpose(const uint8_t *planes, size_t events, size_t size, uint8_t *rows)
{
	const size_t even_events = events & ~(size_t)7, even_size = size & ~(size_t)7;

	for (size_t i = 0; i < even_events; i += 8)
		for (size_t k = 0; k < even_size; k += 8) {
			const uint8_t *in[8];

			for (size_t plane = 0; plane < 8; plane++)
				in[plane] = planes + (k + plane) * events;
			format_transpose_8x8(in, i, rows + i * size + k, size);
		}
	for (size_t i = 0; i < events; i++)
		for (size_t k = i < even_events ? even_size : 0; k < size; k++)
			rows[i * size + k] = planes[k * events + i];
}

/* Finds the payloads of one descriptor. *used: bytes of block->payloads in use. */
static int place_payloads(struct format_event_block *block, struct common_cursor *in,
			  struct format_block_layout *layout, size_t *used)
{
	uint64_t total = 0;

	if (layout->size_plus_one) {
		const size_t size = layout->size_plus_one - 1;
		const uint8_t *planes;

		if (size && layout->events > common_cursor_left(in) / size)
			return corrupt("the payloads do not fit");
		planes = common_read_bytes(in, size * layout->events);
		layout->payload = block->payloads + *used;
		transpose(planes, layout->events, size, block->payloads + *used);
		*used += size * layout->events;
		return 0;
	}
	layout->sizes = *in;
	for (size_t i = 0; i < layout->events; i++) {
		const uint64_t size = common_read_varint(in);

		if (in->failed || size > PTL_PAYLOAD_MAX)
			return corrupt("a payload's size is out of bounds");
		total += size;
	}
	layout->payload = common_read_bytes(in, total);
	return layout->payload ? 0 : corrupt("the payloads do not fit");
}

static int decode_payloads(struct format_event_block *block, struct common_cursor *in,
			   struct format_block_layout *layouts, size_t count)
{
	size_t used = 0;

	for (size_t i = 0; i < block->count; i++)
		layouts[block->rows[i].descriptor].events++;
	/*
	 * All fixed-size payloads together fit into as many bytes as are left. One byte more avoids an allocation of 0
	 * bytes.
	 */
	block->payloads = reserve_block_memory(&block->payload_memory, common_cursor_left(in) + 1);
	if (!block->payloads)
		return common_fail_memory("event payloads", common_cursor_left(in));
	for (size_t d = 0; d < count; d++) {
		const int status = place_payloads(block, in, &layouts[d], &used);

		if (status)
			return status;
	}
	for (size_t i = 0; i < block->count; i++) {
		struct format_block_row *row = &block->rows[i];
		struct format_block_layout *layout = &layouts[row->descriptor];

		row->size = (uint32_t)(layout->size_plus_one ? layout->size_plus_one - 1
							     : common_read_varint(&layout->sizes));
		row->payload = layout->payload;
		layout->payload += row->size;
	}
	return 0;
}

/* Reads an extra, after its distance, and stores it in `event` unless NULL. */
static bool read_extra(struct format_event_block *block, struct common_cursor *in, struct ptl_event *event)
{
	uint64_t flags, activity = 0, related = 0, count, type, size;

	if (!read_below(in, FORMAT_EVENT_FLAGS + 1, &flags) ||
	    ((flags & PTL_EVENT_HAS_ACTIVITY) && !read_below(in, block->guid_count, &activity)) ||
	    ((flags & PTL_EVENT_HAS_RELATED) && !read_below(in, block->guid_count, &related)) ||
	    !read_below(in, FORMAT_EXTENDED_MAX + 1, &count))
		return false;
	for (uint64_t i = 0; i < count; i++) {
		const uint8_t *data;

		if (!read_below(in, 1u << 16, &type) || !read_below(in, 1u << 16, &size))
			return false;
		data = common_read_bytes(in, size);
		if (!data)
			return false;
		if (event)
			block->extended[i] = (struct ptl_extended){(uint16_t)type, (uint16_t)size, data};
	}
	if (!event)
		return true;
	event->flags = (uint32_t)flags;
	if (flags & PTL_EVENT_HAS_ACTIVITY)
		memcpy(event->activity.bytes, block->guids + activity * 16, 16);
	if (flags & PTL_EVENT_HAS_RELATED)
		memcpy(event->related.bytes, block->guids + related * 16, 16);
	event->extended = count ? block->extended : NULL;
	event->extended_count = count;
	return true;
}

static int check_extras(struct format_event_block *block, struct common_cursor *in)
{
	size_t count;
	uint64_t event = 0;

	if (!read_count(in, 3, &count))
		return corrupt("the extras do not fit");
	block->extras = *in;
	block->extras_left = count;
	for (size_t i = 0; i < count; i++) {
		const uint64_t distance = common_read_varint(in);

		if (in->failed || (i && !distance) || distance >= block->count - event)
			return corrupt("an extra belongs to no event");
		event += distance;
		if (!read_extra(block, in, NULL))
			return corrupt("an extra is out of bounds");
	}
	if (count) {
		block->extended = reserve_block_memory(&block->extended_memory,
						       FORMAT_EXTENDED_MAX * sizeof(*block->extended));
		if (!block->extended)
			return common_fail_memory("extended items", FORMAT_EXTENDED_MAX);
		block->extra_event = common_read_varint(&block->extras);
	}
	return common_cursor_left(in) ? corrupt("bytes are left over") : 0;
}

static int decode_events(struct format_event_block *block, struct common_cursor *in, uint64_t first_time,
			 uint64_t last_time)
{
	size_t descriptors, contexts;
	unsigned width;
	int status;

	if ((status = decode_guids(block, in)) || (status = decode_descriptors(block, in, &descriptors)) ||
	    (status = decode_contexts(block, in, &contexts)))
		return status;
	width = common_read8(in);
	if (width < 1 || width > 8)
		return corrupt("the width of the times is out of bounds");
	/* Every event has at least one byte of time, so the remaining bytes bound the number of events. */
	if (block->count > common_cursor_left(in))
		return corrupt("there are fewer bytes than events");
	block->rows = reserve_block_memory(&block->row_memory, block->count * sizeof(*block->rows));
	if (!block->rows)
		return common_fail_memory("events", block->count * sizeof(*block->rows));
	if ((status = decode_column(block, in, descriptors, false)) ||
	    (status = decode_column(block, in, contexts, true)) ||
	    (status = decode_times(block, in, width, first_time, last_time)) ||
	    (status = decode_payloads(block, in, block->layouts, descriptors)))
		return status;
	return check_extras(block, in);
}

int format_event_block_decode(struct format_event_block *block, const uint8_t *raw, size_t size, size_t records,
			      uint64_t first_time, uint64_t last_time)
{
	struct common_cursor in = common_cursor(raw, size);
	int status;

	block->count = records;
	block->next = 0;
	block->extras_left = 0;
	if (!records)
		return size ? corrupt("bytes without events") : 0;
	if (records > FORMAT_EVENTS_MAX) {
		block->count = 0;
		return corrupt("too many events");
	}
	status = decode_events(block, &in, first_time, last_time);
	if (status)
		block->count = 0;
	return status;
}

uint64_t format_event_block_time(const struct format_event_block *block)
{
	return block->rows[block->next].time;
}

bool format_event_block_next(struct format_event_block *block, struct ptl_event *event)
{
	const struct format_block_row *row;
	const struct format_event_context *context;

	if (block->next == block->count)
		return false;
	row = &block->rows[block->next];
	context = &block->contexts[row->context];
	event->descriptor = block->descriptors[row->descriptor];
	event->time = row->time;
	event->cpu = context->cpu;
	event->pid = context->pid;
	event->tid = context->tid;
	event->flags = 0;
	event->payload = row->payload;
	event->payload_size = row->size;
	event->extended = NULL;
	event->extended_count = 0;
	if (block->extras_left && block->extra_event == block->next) {
		memset(&event->activity, 0, sizeof(event->activity));
		memset(&event->related, 0, sizeof(event->related));
		read_extra(block, &block->extras, event);
		if (--block->extras_left)
			block->extra_event += common_read_varint(&block->extras);
	}
	block->next++;
	return true;
}

void format_event_block_free(struct format_event_block *block)
{
	free(block->row_memory.data);
	free(block->descriptor_memory.data);
	free(block->context_memory.data);
	free(block->payload_memory.data);
	free(block->layout_memory.data);
	free(block->extended_memory.data);
	*block = (struct format_event_block){0};
}
