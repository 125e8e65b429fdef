/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/state/store.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "common/hash_map.h"

#define RECENT_MAX ((size_t)16 << 20)
#define WINDOW ((size_t)64 << 10)
#define HEAD 4 /* bytes of an entry's size */

void format_store_free(struct format_store *store)
{
	common_bytes_free(&store->recent);
	free(store->window);
	if (store->has_file)
		close(store->fd);
	*store = (struct format_store){0};
}

uint64_t format_store_size(const struct format_store *store)
{
	return store->filed + store->recent.size;
}

/* ---- reading ----------------------------------------------------------------------------------------- */

/* Loads the file's bytes from a place on into the window. */
static int load_window(struct format_store *store, uint64_t at)
{
	const uint64_t left = store->filed - at;

	if (!store->window)
		store->window = malloc(WINDOW);
	if (!store->window)
		return common_fail_memory("images", WINDOW);
	store->window_at = at;
	store->window_size = left < WINDOW ? (size_t)left : WINDOW;
	return common_read_at(store->fd, store->window, store->window_size, at);
}

/* Copies bytes of the file. The window helps, as entries stored together are adjacent. */
static int copy_filed(struct format_store *store, uint64_t at, uint8_t *out, size_t size)
{
	int status = 0;

	if (size > WINDOW)
		return common_read_at(store->fd, out, size, at);
	if (!store->window_size || at < store->window_at || at + size > store->window_at + store->window_size)
		status = load_window(store, at);
	if (!status)
		memcpy(out, store->window + (at - store->window_at), size);
	return status;
}

static int copy_stored(struct format_store *store, uint64_t at, uint8_t *out, size_t size)
{
	if (at < store->filed)
		return copy_filed(store, at, out, size);
	memcpy(out, store->recent.data + (at - store->filed), size);
	return 0;
}

int format_store_get(struct format_store *store, uint64_t place, struct ptl_bytes *out)
{
	uint8_t head[HEAD], *data;
	int status = copy_stored(store, place, head, HEAD);

	out->size = 0;
	if (status || !common_load32(head))
		return status;
	data = common_bytes_grow(out, common_load32(head));
	if (!data) {
		out->failed = false;
		return common_fail_memory("an image", common_load32(head));
	}
	return copy_stored(store, place + HEAD, data, common_load32(head));
}

/* ---- writing ----------------------------------------------------------------------------------------- */

static int file_recent(struct format_store *store)
{
	int status = 0;

	if (!store->has_file) {
		status = common_open_temporary(&store->fd);
		store->has_file = !status;
	}
	if (!status)
		status = common_write_temporary(store->fd, store->recent.data, store->recent.size, store->filed);
	if (!status) {
		store->filed += store->recent.size;
		store->recent.size = 0;
	}
	return status;
}

/* Whether these bytes are stored at a place in memory. */
static bool is_at(const struct format_store *store, uint64_t place, const void *data, size_t size)
{
	const uint8_t *there;

	if (place < store->filed)
		return false;
	there = store->recent.data + (place - store->filed);
	return common_load32(there) == size && (!size || memcmp(there + HEAD, data, size) == 0);
}

int format_store_put(struct format_store *store, const void *data, size_t size, uint64_t *place)
{
	const uint64_t hash = common_hash_bytes(data, size);
	const size_t guess = hash & (FORMAT_STORE_GUESSES - 1);
	uint8_t *out;

	if (store->guesses[guess].place && store->guesses[guess].hash == hash &&
	    is_at(store, store->guesses[guess].place - 1, data, size)) {
		*place = store->guesses[guess].place - 1;
		return 0;
	}
	if (store->recent.size && store->recent.size + HEAD + size > RECENT_MAX) {
		const int status = file_recent(store);

		if (status)
			return status;
	}
	*place = format_store_size(store);
	out = size > UINT32_MAX ? NULL : common_bytes_grow(&store->recent, HEAD + size);
	if (!out) {
		store->recent.failed = false;
		return common_fail_memory("an image", size);
	}
	common_store32(out, (uint32_t)size);
	if (size)
		memcpy(out + HEAD, data, size);
	store->guesses[guess].hash = hash;
	store->guesses[guess].place = *place + 1;
	return 0;
}
