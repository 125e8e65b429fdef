/* SPDX-License-Identifier: BSD-2-Clause */
/* Events that wait for the stacks that come behind them. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/guid.h"
#include "common/hash.h"
#include "import/etl/import.h"
#include "import/etl/layout.h"
#include "import/etl/stack_internal.h"

#define EVENTS 65536u          /* that wait at most; a power of two */
#define BYTES_MAX (32u << 20)  /* of theirs */
#define BUCKETS 65536u         /* likewise */
#define LOOKED_MAX 64u         /* events of one time that are looked at */
#define STACKS_MAX 4u          /* of one event: kernel's, user's */
#define STACK_BYTES_MAX 65000u /* of an extended item */
#define NONE UINT32_MAX

struct etl_pending {
	struct ptl_event event;
	uint8_t *memory; /* the payload, the items, their bytes */
	uint64_t ticks;
	uint32_t next; /* in its bucket */
	uint8_t stack_count;
	bool takes_stacks;
	struct ptl_extended stacks[STACKS_MAX]; /* each with memory of its own */
	size_t size;
};

/* First in, first out. */
struct etl_bucket {
	uint32_t first, last;
};

static struct etl_bucket *bucket_of(const struct etl_window *window, uint64_t ticks)
{
	return &window->buckets[common_hash_mix(ticks) >> 48 & (BUCKETS - 1)];
}

static void release(struct etl_pending *pending)
{
	free(pending->memory);
	for (size_t i = 0; i < pending->stack_count; i++)
		free((void *)pending->stacks[i].data);
}

void etl_window_free(struct etl_window *window)
{
	for (size_t i = 0; i < window->count; i++)
		release(&window->ring[(window->first + i) & (EVENTS - 1)]);
	free(window->ring);
	free(window->buckets);
	*window = (struct etl_window){0};
}

static int begin(struct etl_window *window)
{
	if (window->ring)
		return 0;
	window->ring = malloc(EVENTS * sizeof(*window->ring));
	window->buckets = malloc(BUCKETS * sizeof(*window->buckets));
	if (!window->ring || !window->buckets)
		return common_fail_memory("events that wait", EVENTS * sizeof(*window->ring));
	memset(window->buckets, 0xff, BUCKETS * sizeof(*window->buckets));
	return 0;
}

/* ---- writing ----------------------------------------------------------------------------------------------- */

static int write_first(struct etl_import *import)
{
	struct etl_window *window = &import->window;
	struct etl_pending *pending = &window->ring[window->first];
	struct etl_bucket *bucket = bucket_of(window, pending->ticks);
	struct ptl_extended items[ETL_ITEMS_MAX + STACKS_MAX];
	struct ptl_event event = pending->event;
	int status;

	memcpy(items, event.extended, event.extended_count * sizeof(*items));
	for (size_t i = 0; i < pending->stack_count; i++)
		items[event.extended_count++] = pending->stacks[i];
	event.extended = items;
	status = etl_event_write(import, &event);
	bucket->first = pending->next;
	if (bucket->first == NONE)
		bucket->last = NONE;
	window->bytes -= pending->size;
	window->first = (window->first + 1) & (EVENTS - 1);
	window->count--;
	release(pending);
	return status;
}

int etl_window_flush(struct etl_import *import)
{
	int status = 0;

	while (!status && import->window.count)
		status = write_first(import);
	return status;
}

/* ---- waiting ----------------------------------------------------------------------------------------------- */

static bool is_image_id(const struct etl_record *record)
{
	static const struct ptl_guid class = PTL_GUID(0xb3e675d7, 0x2554, 0x4f18, 0x830b, 0x2762732560de);

	return common_guid_equal(&record->descriptor.provider, &class);
}

/* Everything that the event points to, in one piece of memory. */
static int copy(const struct ptl_event *event, struct etl_pending *pending)
{
	const size_t items = event->extended_count * sizeof(*event->extended);
	struct ptl_extended *kept;
	uint8_t *at;

	pending->size = items + event->payload_size;
	for (size_t i = 0; i < event->extended_count; i++)
		pending->size += event->extended[i].size;
	pending->memory = malloc(pending->size ? pending->size : 1);
	if (!pending->memory)
		return common_fail_memory("an event that waits", pending->size);
	kept = (struct ptl_extended *)(void *)pending->memory;
	at = pending->memory + items;
	for (size_t i = 0; i < event->extended_count; i++) {
		kept[i] = (struct ptl_extended){event->extended[i].type, event->extended[i].size, at};
		if (kept[i].size)
			memcpy(at, event->extended[i].data, kept[i].size);
		at += kept[i].size;
	}
	if (event->payload_size)
		memcpy(at, event->payload, event->payload_size);
	pending->event = *event;
	pending->event.extended = kept;
	pending->event.payload = at;
	return 0;
}

int etl_window_push(struct etl_import *import, const struct ptl_event *event, const struct etl_record *record)
{
	struct etl_window *window = &import->window;
	struct etl_pending *pending;
	struct etl_bucket *bucket;
	uint32_t place;
	int status = begin(window);

	while (!status && (window->count == EVENTS || (window->count && window->bytes > BYTES_MAX)))
		status = write_first(import);
	if (status)
		return status;
	place = (uint32_t)((window->first + window->count) & (EVENTS - 1));
	pending = &window->ring[place];
	/* What is added when traces are merged has the times of others, and stacks have some of their own. */
	*pending = (struct etl_pending){
		.ticks = record->time, .next = NONE, .takes_stacks = !etl_is_stack(record) && !is_image_id(record)};
	status = copy(event, pending);
	if (status)
		return status;
	window->bytes += pending->size;
	window->count++;
	bucket = bucket_of(window, record->time);
	if (bucket->last == NONE)
		bucket->first = place;
	else
		window->ring[bucket->last].next = place;
	bucket->last = place;
	return 0;
}

/* ---- stacks --------------------------------------------------------------------------------------------------- */

/* The event of that time, and of that thread where it has one; rather one of the same CPU. */
static struct etl_pending *find(const struct etl_window *window, uint64_t ticks, uint32_t tid, uint32_t cpu)
{
	struct etl_pending *best = NULL;
	uint32_t i = window->ring ? bucket_of(window, ticks)->first : NONE;

	for (unsigned looked = 0; i != NONE && looked < LOOKED_MAX; i = window->ring[i].next, looked++) {
		struct etl_pending *one = &window->ring[i];

		if (!one->takes_stacks || one->ticks != ticks || one->stack_count == STACKS_MAX ||
		    (one->event.tid != PTL_NO_ID && one->event.tid != tid))
			continue;
		if (one->event.cpu == cpu)
			return one;
		best = best ? best : one;
	}
	return best;
}

/* As ETW has it in events that carry theirs: a number that matches the parts of one stack, then the addresses. */
static int attach(struct etl_window *window, struct etl_pending *pending, uint64_t match, struct ptl_bytes *frames)
{
	const size_t size = frames->size < STACK_BYTES_MAX ? frames->size : STACK_BYTES_MAX / 8 * 8;
	uint8_t *item = malloc(size + 8);

	if (!item || frames->failed) {
		free(item);
		return common_fail_memory("a stack", size);
	}
	common_store64(item, match);
	if (size)
		memcpy(item + 8, frames->data, size);
	pending->stacks[pending->stack_count++] = (struct ptl_extended){ETL_EXTENDED_STACK64, (uint16_t)(size + 8),
									item};
	pending->size += size + 8;
	window->bytes += size + 8;
	return 0;
}

static int take_frames(const struct etl_import *import, const struct etl_record *record, struct common_cursor *cursor,
		       struct ptl_bytes *frames)
{
	const unsigned unit = record->pointer_size;
	const struct etl_stack_key *key;

	if (record->descriptor.opcode == ETL_STACK) {
		etl_frames_write(cursor->data + cursor->at, common_cursor_left(cursor) / unit, unit, frames);
		return 1;
	}
	key = etl_stack_key_find(&import->stack_keys, common_read_le(cursor, unit), record->time);
	if (!key || cursor->failed)
		return 0;
	common_write_bytes(frames, import->stack_keys.frames.data + key->frames, (size_t)key->count * 8);
	return 1;
}

int etl_window_stack(struct etl_import *import, const struct etl_record *record, uint32_t cpu)
{
	struct common_cursor cursor = common_cursor(record->payload, record->payload_size);
	const uint8_t opcode = record->descriptor.opcode;
	const uint64_t ticks = common_read64(&cursor);
	struct ptl_bytes frames = {0};
	struct etl_pending *pending;
	uint32_t tid;
	int status = 0;

	if (opcode != ETL_STACK && opcode != ETL_STACK_KEY_KERNEL && opcode != ETL_STACK_KEY_USER)
		return 0;
	common_read32(&cursor); /* process */
	tid = common_read32(&cursor);
	pending = cursor.failed ? NULL : find(&import->window, ticks, tid, cpu);
	if (!pending) {
		import->outcome.stacks_alone++;
		return 0;
	}
	if (take_frames(import, record, &cursor, &frames)) {
		status = attach(&import->window, pending, ticks, &frames);
		import->outcome.stacks_joined++;
	} else {
		import->outcome.stacks_alone++;
	}
	common_bytes_free(&frames);
	return status;
}
