/* SPDX-License-Identifier: BSD-2-Clause */
/* Payloads of buffers: read, verified, decompressed once, and cached within a limit. */
#include <inttypes.h>
#include <stdlib.h>

#include "common/error.h"
#include "common/file.h"
#include "format/reader/reader_internal.h"

/* ---- loading ----------------------------------------------------------------------------------------- */

/* Number of loaders above which a thread takes any free loader. */
#define OWN_LOADERS 64

/* The address identifies a living thread. */
static _Thread_local char thread_mark;

static struct format_loader *new_loader(void)
{
	struct format_loader *loader = calloc(1, sizeof(*loader));

	if (!loader)
		return NULL;
	loader->decompressor = format_decompressor_new();
	if (loader->decompressor)
		return loader;
	free(loader);
	return NULL;
}

/*
 * Takes the loader that this thread used last, whose memory is in the CPU's caches; otherwise a new loader, or any
 * loader beyond OWN_LOADERS.
 */
static struct format_loader *take_loader(struct ptl_trace *trace)
{
	struct format_loader **place = &trace->loaders.unused, *loader;

	pthread_mutex_lock(&trace->loaders.lock);
	while (*place && (*place)->thread != &thread_mark)
		place = &(*place)->next;
	if (!*place && trace->loaders.count >= OWN_LOADERS)
		place = &trace->loaders.unused;
	loader = *place;
	if (loader)
		*place = loader->next;
	else
		trace->loaders.count++;
	pthread_mutex_unlock(&trace->loaders.lock);
	return loader ? loader : new_loader();
}

static void give_loader(struct ptl_trace *trace, struct format_loader *loader)
{
	pthread_mutex_lock(&trace->loaders.lock);
	loader->thread = &thread_mark;
	loader->next = trace->loaders.unused;
	trace->loaders.unused = loader;
	pthread_mutex_unlock(&trace->loaders.lock);
}

void format_loaders_free(struct ptl_trace *trace)
{
	while (trace->loaders.unused) {
		struct format_loader *loader = trace->loaders.unused;

		trace->loaders.unused = loader->next;
		format_decompressor_free(loader->decompressor);
		common_bytes_free(&loader->stored);
		free(loader);
	}
}

static int read_stored(struct ptl_trace *trace, const struct format_entry *entry, uint8_t *data)
{
	const struct ptl_buffer *buffer = &entry->buffer;
	const int status = common_read_at(trace->fd, data, buffer->stored_size,
					  buffer->offset + FORMAT_BUFFER_HEADER_SIZE + entry->side_size);

	if (status)
		return status;
	if (format_checksum(data, buffer->stored_size) != entry->checksum)
		return common_fail(PTL_CORRUPT, "payload checksum differs");
	return 0;
}

static int load_payload(struct ptl_trace *trace, struct format_loader *loader, const struct format_entry *entry,
			uint8_t *out)
{
	const struct ptl_buffer *buffer = &entry->buffer;
	uint8_t *stored;
	int status;

	if (buffer->codec == FORMAT_CODEC_RAW)
		return read_stored(trace, entry, out);
	loader->stored.size = 0;
	stored = common_bytes_grow(&loader->stored, buffer->stored_size);
	if (!stored) {
		loader->stored.failed = false;
		return common_fail_memory("a buffer", buffer->stored_size);
	}
	status = read_stored(trace, entry, stored);
	return status ? status
		      : format_decompress(loader->decompressor, stored, buffer->stored_size, out, buffer->raw_size);
}

int format_payload_load(struct ptl_trace *trace, const struct format_entry *entry, uint8_t *out)
{
	struct format_loader *loader = take_loader(trace);
	int status;

	if (!loader)
		return common_fail_memory("decompression", sizeof(*loader));
	status = load_payload(trace, loader, entry, out);
	give_loader(trace, loader);
	return status;
}

int format_expansion_check(const struct ptl_trace *trace, const struct format_entry *entry)
{
	const struct ptl_buffer *buffer = &entry->buffer;
	const uint64_t size = (uint64_t)FORMAT_BUFFER_HEADER_SIZE + entry->side_size + buffer->stored_size;

	/*
	 * Only events are limited, as they need memory and time in proportion to their raw size. Other kinds are read
	 * one buffer at a time.
	 */
	if (buffer->stream.kind != PTL_KIND_EVENTS || buffer->codec == FORMAT_CODEC_RAW ||
	    trace->max_expansion == UINT32_MAX || buffer->raw_size <= trace->max_expansion * size)
		return 0;
	return common_fail(PTL_CORRUPT,
			   "%" PRIu64 " bytes hold %" PRIu32 " bytes of events, more than %" PRIu32
			   " times as many; --max-expansion allows more, if the trace is to be trusted",
			   size, buffer->raw_size, trace->max_expansion);
}

/* Loads a buffer of the trace, and adds damage to the list. */
static int load_entry(struct ptl_trace *trace, struct format_entry *entry, uint8_t *out)
{
	int status;

	if (!entry->usable)
		return common_fail(PTL_UNSUPPORTED, "buffer at offset %" PRIu64 ": codec %u or its flags",
				   entry->buffer.offset, entry->buffer.codec);
	status = format_expansion_check(trace, entry);
	if (!status)
		status = format_payload_load(trace, entry, out);
	return status ? format_damage_buffer(trace, entry, status) : 0;
}

/* ---- cache ------------------------------------------------------------------------------------------- */

/*
 * Limits in bytes for buffers that were read completely, and for buffers whose end was read. A completely read buffer
 * is rarely needed again, except by threads that read neighbouring parts of a stream. Beyond the limits, the memory is
 * reused for the next buffers, which is faster than fresh memory. If only the end was read, another thread may still
 * read the start, or no thread will.
 */
#define READ_LIMIT ((size_t)1 << 20)
#define ENDED_LIMIT ((size_t)8 << 20)
/*
 * Most spare blocks of memory, enough for several threads. All spares but one take at most 1/SPARE_SHARE of the limit.
 */
#define SPARES 8
#define SPARE_SHARE 8

/* A cached buffer. In the map from the start of its loading, so that no two threads decompress the same buffer. */
struct format_cached {
	size_t entry;
	size_t users; /* number of users, including the loading thread and waiting threads */
	size_t size;
	bool loaded;
	bool failed; /* loading failed: not in the map any more; the last user frees the memory */
	bool start;  /* start was read; end was read */
	bool end;
	size_t room;        /* size of data[] in bytes; may be larger than the buffer, as memory is reused */
	const void *thread; /* thread that loaded the buffer */
	struct format_cached *newer, *older;
	uint8_t data[];
};

/* Bytes of a cached buffer besides its data, including its place in the map. */
#define CACHED_BYTES (sizeof(struct format_cached) + 64)

static void unlink_cached(struct format_cache *cache, struct format_cached *cached)
{
	*(cached->newer ? &cached->newer->older : &cache->newest) = cached->older;
	*(cached->older ? &cached->older->newer : &cache->oldest) = cached->newer;
	cached->newer = cached->older = NULL;
}

static void link_newest(struct format_cache *cache, struct format_cached *cached)
{
	cached->older = cache->newest;
	*(cache->newest ? &cache->newest->newer : &cache->oldest) = cached;
	cache->newest = cached;
}

static bool is_read(const struct format_cached *cached)
{
	return cached->start && cached->end;
}

static void free_cached(struct format_cache *cache, struct format_cached *cached)
{
	format_pool_give(&cache->pool, cached);
}

static struct format_cached *unlink_spare(struct format_cache *cache, struct format_cached **place)
{
	struct format_cached *spare = *place;

	*place = spare->older;
	cache->spare_count--;
	cache->spare_bytes -= spare->room;
	return spare;
}

static void free_oldest_spare(struct format_cache *cache)
{
	struct format_cached **place = &cache->spares;

	while ((*place)->older)
		place = &(*place)->older;
	free_cached(cache, unlink_spare(cache, place));
}

/* Keeps the memory as a spare: recently used memory needs no page faults and is in the CPU's caches. */
static void discard(struct format_cache *cache, size_t limit, struct format_cached *cached)
{
	cached->older = cache->spares;
	cache->spares = cached;
	cache->spare_count++;
	cache->spare_bytes += cached->room;
	while (cache->spare_count > SPARES || (cache->spare_count > 1 && cache->spare_bytes > limit / SPARE_SHARE))
		free_oldest_spare(cache);
}

/* Takes a spare that this thread used before and that fits. */
static struct format_cached *take_spare(struct format_cache *cache, size_t size)
{
	for (struct format_cached **place = &cache->spares; *place; place = &(*place)->older) {
		struct format_cached *cached = *place;

		if (cached->thread == &thread_mark && cached->room >= size && cached->room / 2 <= size)
			return unlink_spare(cache, place);
	}
	return NULL;
}

static struct format_cached *new_cached(struct format_cache *cache, size_t entry, size_t size)
{
	struct format_cached *cached = take_spare(cache, size);
	const size_t room = cached ? cached->room : size;

	if (!cached)
		cached = format_pool_take(&cache->pool, sizeof(*cached) + size);
	if (cached)
		*cached = (struct format_cached){.entry = entry, .size = size, .room = room, .thread = &thread_mark};
	return cached;
}

static void remove_cached(struct format_cache *cache, struct format_cached *cached)
{
	unlink_cached(cache, cached);
	common_hash_map_remove(&cache->map, cached->entry);
	cache->used -= cached->size + CACHED_BYTES;
	cache->ended -= cached->end ? cached->size : 0;
	cache->read -= is_read(cached) ? cached->size : 0;
}

static bool is_full(const struct format_cache *cache, size_t limit)
{
	return cache->used > limit || cache->ended > ENDED_LIMIT || cache->read > READ_LIMIT;
}

static bool may_go(const struct format_cache *cache, size_t limit, const struct format_cached *cached)
{
	return !cached->users &&
	       (is_read(cached) || (cached->end && cache->ended > ENDED_LIMIT) || cache->used > limit);
}

/* Drops unused buffers, oldest first, until the limits are met. */
static void trim(struct format_cache *cache)
{
	const size_t limit = common_memory_budget_share(cache->limit);
	struct format_cached *cached = cache->oldest;

	while (cached && is_full(cache, limit)) {
		struct format_cached *newer = cached->newer;

		if (may_go(cache, limit, cached)) {
			remove_cached(cache, cached);
			discard(cache, limit, cached);
		}
		cached = newer;
	}
}

static struct format_cached *find_cached(struct format_cache *cache, size_t entry)
{
	const uint64_t *known = common_hash_map_get(&cache->map, entry);
	struct format_cached *cached;

	if (!known)
		return NULL;
	cached = (struct format_cached *)(uintptr_t)*known;
	cached->users++;
	if (cached != cache->newest) {
		unlink_cached(cache, cached);
		link_newest(cache, cached);
	}
	return cached;
}

/* Adds a buffer that is not in the cache, in use by the caller. NULL without memory. */
static struct format_cached *add_cached(struct format_cache *cache, size_t entry, size_t size)
{
	struct format_cached *cached = new_cached(cache, entry, size);

	if (!cached)
		return NULL;
	if (common_hash_map_put(&cache->map, entry, (uintptr_t)cached) < 0) {
		free_cached(cache, cached);
		return NULL;
	}
	cached->users = 1;
	link_newest(cache, cached);
	cache->used += size + CACHED_BYTES;
	return cached;
}

/*
 * Finds a buffer and waits until it is loaded. NULL if no thread has loaded or is loading the buffer, or if loading
 * failed: then the caller tries and fails with its own error text.
 */
static struct format_cached *wait_for(struct format_cache *cache, size_t entry)
{
	struct format_cached *cached = find_cached(cache, entry);

	while (cached && !cached->loaded) {
		if (!cached->failed) {
			pthread_cond_wait(&cache->changed, &cache->lock);
			continue;
		}
		if (!--cached->users)
			free_cached(cache, cached);
		cached = find_cached(cache, entry);
	}
	return cached;
}

/* Loads the buffer. The caller holds the lock, which is released during the loading. */
static int fill_cached(struct ptl_trace *trace, struct format_cached *cached)
{
	struct format_cache *cache = &trace->cache;
	int status;

	pthread_mutex_unlock(&cache->lock);
	status = load_entry(trace, &trace->entries[cached->entry], cached->data);
	pthread_mutex_lock(&cache->lock);
	cached->loaded = !status;
	cached->failed = status;
	pthread_cond_broadcast(&cache->changed);
	if (status) {
		remove_cached(cache, cached);
		if (!--cached->users)
			free_cached(cache, cached);
	} else {
		trim(cache);
	}
	return status;
}

int ptl_buffer_acquire(struct ptl_trace *trace, size_t i, const uint8_t **data, size_t *size)
{
	struct format_cache *cache = &trace->cache;
	struct format_cached *cached;
	size_t raw_size;
	int status = 0;

	if (i >= trace->entry_count)
		return common_fail(PTL_MISUSE, "there is no buffer %zu", i);
	raw_size = trace->entries[i].buffer.raw_size;
	pthread_mutex_lock(&cache->lock);
	cached = wait_for(cache, i);
	if (!cached) {
		cached = add_cached(cache, i, raw_size);
		status = cached ? fill_cached(trace, cached) : common_fail_memory("a buffer", raw_size);
	}
	if (!status) {
		*data = cached->data;
		*size = cached->size;
	}
	pthread_mutex_unlock(&cache->lock);
	return status;
}

static void release_cached(struct format_cache *cache, size_t i, bool start, bool end)
{
	const uint64_t *known;

	pthread_mutex_lock(&cache->lock);
	known = common_hash_map_get(&cache->map, i);
	if (known) {
		struct format_cached *cached = (struct format_cached *)(uintptr_t)*known;
		const bool had_end = cached->end, was_read = is_read(cached);

		cached->users--;
		cached->start |= start;
		cached->end |= end;
		cache->ended += cached->end && !had_end ? cached->size : 0;
		cache->read += is_read(cached) && !was_read ? cached->size : 0;
		trim(cache);
	}
	pthread_mutex_unlock(&cache->lock);
}

void ptl_buffer_release(struct ptl_trace *trace, size_t i)
{
	release_cached(&trace->cache, i, false, false);
}

void format_buffer_release_read(struct ptl_trace *trace, size_t i, bool start, bool end)
{
	release_cached(&trace->cache, i, start, end);
}

void format_trace_limit_cache(struct ptl_trace *trace, size_t bytes)
{
	struct format_cache *cache = &trace->cache;

	pthread_mutex_lock(&cache->lock);
	cache->limit = bytes;
	trim(cache);
	pthread_mutex_unlock(&cache->lock);
}

void format_cache_free(struct format_cache *cache)
{
	while (cache->oldest) {
		struct format_cached *cached = cache->oldest;

		unlink_cached(cache, cached);
		free_cached(cache, cached);
	}
	while (cache->spares)
		free_oldest_spare(cache);
	format_pool_free(&cache->pool);
	common_hash_map_free(&cache->map);
}

int ptl_buffer_read_into(struct ptl_trace *trace, size_t i, void *data, size_t size)
{
	if (i >= trace->entry_count || size < trace->entries[i].buffer.raw_size)
		return common_fail(PTL_MISUSE, "there is no buffer %zu of at most %zu bytes", i, size);
	return load_entry(trace, &trace->entries[i], data);
}

int ptl_buffer_read(struct ptl_trace *trace, size_t i, uint8_t **data, size_t *size)
{
	uint8_t *bytes;
	int status;

	*data = NULL;
	if (i >= trace->entry_count)
		return common_fail(PTL_MISUSE, "there is no buffer %zu", i);
	*size = trace->entries[i].buffer.raw_size;
	bytes = malloc(*size + 1);
	if (!bytes)
		return common_fail_memory("a buffer", *size);
	status = ptl_buffer_read_into(trace, i, bytes, *size);
	if (status)
		free(bytes);
	else
		*data = bytes;
	return status;
}

size_t ptl_buffer_count(const struct ptl_trace *trace)
{
	return trace->entry_count;
}

const struct ptl_buffer *ptl_buffer_at(const struct ptl_trace *trace, size_t i)
{
	return i < trace->entry_count ? &trace->entries[i].buffer : NULL;
}

struct format_entry *format_trace_entry(struct ptl_trace *trace, size_t i)
{
	return i < trace->entry_count ? &trace->entries[i] : NULL;
}
