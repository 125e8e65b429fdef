/* SPDX-License-Identifier: BSD-2-Clause */
/* Joins stacks with events of the same time and thread. */
#include "import/etl/stack.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/guid.h"
#include "import/etl/file/layout.h"
#include "import/etl/import.h"
#include "import/etl/stack_internal.h"

#define STACKS 131072u        /* maximum known stacks; a power of two */
#define BUCKETS 65536u        /* hash buckets; a power of two */
#define LOOKED_MAX 64u        /* maximum stacks examined for an event */
#define ITEM_BYTES_MAX 65008u /* maximum bytes of an extended item: match id and addresses */
#define RUNTIME_THREADS 1024u /* threads whose last runtime event is remembered; a power of two */
#define RUNTIME_STACK 82u     /* event id of CLRStackWalk */
#define RUNTIME_STACK_HEAD 8u /* bytes of CLRStackWalk's payload before the addresses */
#define NONE UINT32_MAX

enum part { PART_KERNEL, PART_USER, PART_RUNTIME };

struct etl_stack {
	uint64_t ticks;       /* time of the stack's event */
	uint64_t time;        /* time of the stack itself */
	const uint8_t *bytes; /* addresses, or a stack key */
	uint32_t size;
	uint32_t tid;
	uint32_t next; /* next stack in the bucket */
	uint16_t cpu;
	uint8_t pointer_size;
	uint8_t part; /* enum part */
	bool is_key;
	bool taken;
	bool gone; /* all addresses are in the stack's event */
};

/* A queue of stacks. */
struct etl_stack_bucket {
	uint32_t first, last;
};

/* The last event of the .NET runtime in a thread. The stack of the event follows at once. */
struct etl_runtime_event {
	uint64_t ticks;
	uint32_t tid;
	bool waits; /* the stack has not come yet */
};

static const struct ptl_guid runtime = PTL_GUID(0xe13c0d23, 0xccbc, 0x4e12, 0x931b, 0xd9cc2eee27e4);

static bool is_walk(const struct etl_record *record)
{
	return record->kind == ETL_KIND_SYSTEM && record->hook >> 8 == ETL_GROUP_STACK;
}

static bool raw_is_walk(const struct etl_raw *raw)
{
	return etl_raw_is_system(raw) && etl_raw_hook(raw) >> 8 == ETL_GROUP_STACK;
}

static bool raw_is_runtime(const struct etl_raw *raw)
{
	return (raw->header == ETL_EVENT32 || raw->header == ETL_EVENT64) &&
	       memcmp(raw->event + ETL_EVENT_PROVIDER_AT, runtime.bytes, sizeof(runtime.bytes)) == 0;
}

bool etl_raw_is_stack(const struct etl_raw *raw)
{
	return raw_is_walk(raw) ||
	       (raw_is_runtime(raw) && common_load16(raw->event + ETL_EVENT_ID_AT) == RUNTIME_STACK);
}

bool etl_is_stack(const struct etl_record *record)
{
	return is_walk(record) || (record->kind == ETL_KIND_EVENT && record->descriptor.id == RUNTIME_STACK &&
				   common_guid_equal(&record->descriptor.provider, &runtime));
}

static struct etl_stack_bucket *bucket_of(const struct etl_stacks *stacks, uint64_t ticks)
{
	/* Keeps stacks with neighbouring times in neighbouring memory. */
	return &stacks->buckets[(ticks ^ ticks >> 16) & (BUCKETS - 1)];
}

void etl_stacks_free(struct etl_stacks *stacks)
{
	free(stacks->ring);
	free(stacks->buckets);
	free(stacks->items);
	free(stacks->runtime);
	*stacks = (struct etl_stacks){0};
}

static int begin_stacks(struct etl_stacks *stacks)
{
	if (stacks->runtime)
		return 0;
	stacks->ring = malloc(STACKS * sizeof(*stacks->ring));
	stacks->buckets = malloc(BUCKETS * sizeof(*stacks->buckets));
	stacks->items = malloc((size_t)ETL_STACKS_MAX * ITEM_BYTES_MAX);
	stacks->runtime = calloc(RUNTIME_THREADS, sizeof(*stacks->runtime));
	if (!stacks->ring || !stacks->buckets || !stacks->items || !stacks->runtime)
		return common_fail_memory("stacks", STACKS * sizeof(*stacks->ring));
	memset(stacks->buckets, 0xff, BUCKETS * sizeof(*stacks->buckets));
	return 0;
}

/*
 * ---- stacks of held buffers -----------------------------------------------------------------------------------------
 */

static void add_stack(struct etl_stacks *stacks, const struct etl_stack *stack)
{
	const uint32_t place = (uint32_t)((stacks->first + stacks->count) & (STACKS - 1));
	struct etl_stack_bucket *bucket = bucket_of(stacks, stack->ticks);

	stacks->ring[place] = *stack;
	stacks->ring[place].next = NONE;
	if (bucket->last == NONE)
		bucket->first = place;
	else
		stacks->ring[bucket->last].next = place;
	bucket->last = place;
	stacks->count++;
}

void etl_stacks_drop(struct etl_import *import, size_t count)
{
	struct etl_stacks *stacks = &import->stacks;

	for (; count; count--) {
		const struct etl_stack *oldest = &stacks->ring[stacks->first];
		struct etl_stack_bucket *bucket = bucket_of(stacks, oldest->ticks);

		bucket->first = oldest->next;
		if (bucket->first == NONE)
			bucket->last = NONE;
		stacks->first = (stacks->first + 1) & (STACKS - 1);
		stacks->count--;
	}
}

/* Tells kernel stacks from user stacks: kernel addresses are in the upper half. */
static uint8_t part_of(const uint8_t *frames, size_t size, unsigned unit)
{
	return size >= unit && frames[unit - 1] & 0x80 ? PART_KERNEL : PART_USER;
}

/* Parses a StackWalk event. Returns false if the event is not the stack of one event. */
static bool read_walk(const struct etl_record *record, struct etl_stack *stack)
{
	struct common_cursor cursor = common_cursor(record->payload, record->payload_size);
	const uint8_t opcode = record->descriptor.opcode;

	stack->ticks = common_read64(&cursor);
	common_read32(&cursor); /* process */
	stack->tid = common_read32(&cursor);
	stack->bytes = cursor.data + cursor.at;
	stack->size = (uint32_t)common_cursor_left(&cursor);
	stack->is_key = opcode != ETL_STACK;
	stack->part = opcode == ETL_STACK_KEY_KERNEL ? PART_KERNEL
		      : opcode == ETL_STACK_KEY_USER ? PART_USER
						     : part_of(stack->bytes, stack->size, record->pointer_size);
	return !cursor.failed &&
	       (opcode == ETL_STACK || opcode == ETL_STACK_KEY_KERNEL || opcode == ETL_STACK_KEY_USER);
}

/* Parses CLRStackWalk, which belongs to the thread's previous runtime event. */
static bool read_runtime(struct etl_stacks *stacks, const struct etl_record *record, struct etl_stack *stack)
{
	struct etl_runtime_event *event = &stacks->runtime[record->tid >> 2 & (RUNTIME_THREADS - 1)];
	const bool known = event->waits && event->tid == record->tid;

	if (record->descriptor.id != RUNTIME_STACK) {
		*event = (struct etl_runtime_event){record->time, record->tid, true};
		return false;
	}
	event->waits = false;
	if (!known || record->payload_size < RUNTIME_STACK_HEAD)
		return false;
	stack->ticks = event->ticks;
	stack->tid = record->tid;
	stack->bytes = record->payload + RUNTIME_STACK_HEAD;
	stack->size = (uint32_t)(record->payload_size - RUNTIME_STACK_HEAD);
	stack->part = PART_RUNTIME;
	return true;
}

int etl_stacks_find(struct etl_import *import, const struct etl_buffer *buffer, size_t *count)
{
	struct etl_stacks *stacks = &import->stacks;
	const int status = begin_stacks(stacks);
	const size_t before = stacks->count;
	struct etl_record record;
	struct etl_raw raw;
	size_t at = ETL_BUFFER_HEADER;

	while (!status && stacks->count < STACKS && etl_record_find(buffer, &at, &raw) > 0) {
		const bool walk = raw_is_walk(&raw);
		struct etl_stack stack = {.cpu = buffer->cpu};

		if (!walk && !raw_is_runtime(&raw))
			continue;
		if (etl_record_read(&raw, &record))
			break;
		stack.time = record.time;
		stack.pointer_size = record.pointer_size;
		if (walk ? read_walk(&record, &stack) : read_runtime(stacks, &record, &stack))
			add_stack(stacks, &stack);
	}
	*count = stacks->count - before;
	return status;
}

void etl_stacks_expect(const struct etl_stacks *stacks, uint64_t ticks)
{
	const uint32_t first = bucket_of(stacks, ticks)->first;

	if (first != NONE)
		__builtin_prefetch(&stacks->ring[first]);
}

/*
 * ---- stacks of an event ---------------------------------------------------------------------------------------------
 */

/*
 * Whether the stack belongs to the record. Without a known thread, the kernel part must come from the same CPU; the
 * user part may be written later on another CPU.
 */
static bool belongs(const struct etl_stack *stack, const struct etl_record *record, uint32_t cpu,
		    const struct etl_stack *const parts[])
{
	if (stack->taken || stack->ticks != record->time)
		return false;
	if (record->tid == stack->tid)
		return true;
	if (record->tid != UINT32_MAX && !record->tid_inferred)
		return false;
	return parts[PART_KERNEL] ? parts[PART_KERNEL]->tid == stack->tid : stack->cpu == cpu;
}

/* Writes an extended item as in ETW: match id of the parts of a stack, then addresses. */
static void write_item(uint8_t *bytes, uint64_t match, const uint8_t *frames, size_t size, unsigned unit,
		       struct ptl_extended *item)
{
	const size_t most = ITEM_BYTES_MAX / 8 - 1, count = size / unit < most ? size / unit : most;

	common_store64(bytes, match);
	if (unit == 8) {
		memcpy(bytes + 8, frames, 8 * count);
	} else {
		for (size_t i = 0; i < count; i++)
			common_store64(bytes + 8 + 8 * i, common_load_le(frames + i * unit, unit));
	}
	*item = (struct ptl_extended){ETL_EXTENDED_STACK64, (uint16_t)(8 + 8 * count), bytes};
}

/* Writes an item with the addresses of a stack key. Returns false if the key is unknown. */
static bool write_key(const struct etl_import *import, uint64_t key, uint64_t time, uint64_t match, uint8_t *bytes,
		      struct ptl_extended *item)
{
	const struct etl_stack_key *found = etl_stack_key_find(&import->stack_keys, key, time);

	if (found)
		write_item(bytes, match, import->stack_keys.frames.data + found->frames, (size_t)found->count * 8, 8,
			   item);
	return found;
}

static bool write_stack(const struct etl_import *import, struct etl_stack *stack, uint8_t *bytes,
			struct ptl_extended *item)
{
	const unsigned unit = stack->pointer_size;

	if (stack->is_key)
		return stack->size >= unit &&
		       write_key(import, common_load_le(stack->bytes, unit), stack->time, stack->ticks, bytes, item);
	write_item(bytes, stack->ticks, stack->bytes, stack->size, unit, item);
	stack->gone = item->size / 8 - 1u == stack->size / unit;
	return true;
}

/* Events that merging tools add have the times of other events. */
static bool takes_stacks(const struct etl_record *record)
{
	static const struct ptl_guid image_id = PTL_GUID(0xb3e675d7, 0x2554, 0x4f18, 0x830b, 0x2762732560de);

	return !etl_is_stack(record) && !common_guid_equal(&record->descriptor.provider, &image_id);
}

/* Takes stacks in the event itself; replaces stack keys by addresses. Returns whether the event has stacks. */
static bool take_inline(const struct etl_import *import, const struct etl_record *record,
			struct ptl_extended items[ETL_STACKS_MAX], size_t *count)
{
	struct ptl_extended item;
	size_t at = 0;
	bool any = false;

	while (etl_record_extended(record, &at, &item)) {
		const bool narrow = item.type == ETL_EXTENDED_STACK_KEY32;
		const size_t unit = narrow ? 4 : 8;

		any |= item.type == ETL_EXTENDED_STACK32 || item.type == ETL_EXTENDED_STACK64;
		if ((!narrow && item.type != ETL_EXTENDED_STACK_KEY64) || item.size < 8 + unit || *count == 2)
			continue;
		any = true;
		*count += write_key(import, common_load_le(item.data + 8, unit), record->time, common_load64(item.data),
				    import->stacks.items + *count * ITEM_BYTES_MAX, &items[*count]);
	}
	return any;
}

static void find_parts(const struct etl_stacks *stacks, const struct etl_record *record, uint32_t cpu,
		       struct etl_stack *parts[ETL_STACKS_MAX])
{
	uint32_t i = bucket_of(stacks, record->time)->first;

	for (unsigned looked = 0; i != NONE && looked < LOOKED_MAX; looked++) {
		struct etl_stack *stack = &stacks->ring[i];

		i = stack->next;
		if (!parts[stack->part] && belongs(stack, record, cpu, (const struct etl_stack *const *)parts))
			parts[stack->part] = stack;
	}
}

int etl_stacks_take(struct etl_import *import, const struct etl_record *record, uint32_t cpu,
		    struct ptl_extended items[ETL_STACKS_MAX], size_t *count)
{
	struct etl_stacks *stacks = &import->stacks;
	struct etl_stack *parts[ETL_STACKS_MAX] = {NULL};
	const int status = begin_stacks(stacks);
	bool whole;

	*count = 0;
	if (status || !takes_stacks(record))
		return status;
	whole = take_inline(import, record, items, count);
	if (stacks->count)
		find_parts(stacks, record, cpu, parts);
	/* Search again: the user part may precede the kernel part, which tells the thread. */
	if (parts[PART_KERNEL] && !parts[PART_USER])
		find_parts(stacks, record, cpu, parts);
	for (size_t i = 0; i < ETL_STACKS_MAX; i++) {
		if (!parts[i] || *count == ETL_STACKS_MAX)
			continue;
		parts[i]->taken = true;
		/* The runtime's stack is a part of the stack that Windows recorded. */
		if ((i == PART_RUNTIME && (whole || parts[PART_USER])) ||
		    !write_stack(import, parts[i], stacks->items + *count * ITEM_BYTES_MAX, &items[*count]))
			continue;
		++*count;
	}
	return 0;
}

bool etl_stacks_gone(const struct etl_import *import, const struct etl_record *record)
{
	const struct etl_stacks *stacks = &import->stacks;
	struct etl_stack wanted;
	uint32_t i;

	if (!stacks->count || !is_walk(record) || record->descriptor.opcode != ETL_STACK || !read_walk(record, &wanted))
		return false;
	i = bucket_of(stacks, wanted.ticks)->first;
	for (unsigned looked = 0; i != NONE && looked < LOOKED_MAX; i = stacks->ring[i].next, looked++)
		if (stacks->ring[i].bytes == wanted.bytes)
			return stacks->ring[i].gone;
	return false;
}
