/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/reader/spill.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "common/vector.h"
#include "format/event/event_pack.h"
#include "format/reader/reader_internal.h"

#define WINDOW ((size_t)16 << 10)
#define WINDOW_MIN ((size_t)512)
#define WINDOWS ((size_t)16 << 20) /* total bytes of all windows */
#define PIECE ((size_t)256 << 10)
/* An event is stored as its size (8 bytes) and the packed event. */
#define EVENT_BYTES (8 + sizeof(struct ptl_event) + 8)

/* ---- writing ----------------------------------------------------------------------------------------- */

/* Assigns a part of the file for a buffer's events. Unused bytes take no disk space. */
static int take_part(struct format_spill *spill, struct format_spilled *spilled, size_t count, size_t raw_size)
{
	/* An extended item takes at least two raw bytes. */
	const uint64_t needed = count * EVENT_BYTES + raw_size * (1 + sizeof(struct ptl_extended) / 2);

	if (!spill->is_open) {
		const int status = common_open_temporary(&spill->fd);

		if (status)
			return status;
		spill->is_open = true;
	}
	if (needed > spilled->capacity) {
		spilled->start = spill->size;
		spilled->capacity = needed;
		spill->size += needed;
	}
	spilled->at = spilled->start;
	spilled->left = 0;
	spilled->from = spilled->filled = 0;
	return 0;
}

/* Writes the packed events and empties `out`. */
static int flush_spill(const struct format_spill *spill, struct format_spilled *spilled, struct ptl_bytes *out)
{
	const int status = out->failed ? common_fail_memory("events", PIECE)
				       : common_write_temporary(spill->fd, out->data, out->size,
								spilled->start + spilled->left);

	spilled->left += out->size;
	out->size = 0;
	return status;
}

int format_spill(struct format_spill *spill, struct format_spilled *spilled, struct format_event_block *block,
		 size_t raw_size)
{
	struct ptl_bytes out = {0};
	struct ptl_event event = {0};
	int status = take_part(spill, spilled, block->count - block->next, raw_size);

	while (!status && format_event_block_next(block, &event)) {
		const size_t size = format_event_pack_size(&event);
		uint8_t *data = common_bytes_grow(&out, 8 + size);

		if (data) {
			common_store64(data, size);
			memset(data + size, 0, 8); /* zeroes the padding */
			format_event_pack(&event, data + 8);
		}
		if (!data || out.size >= PIECE)
			status = flush_spill(spill, spilled, &out);
	}
	if (!status && out.size)
		status = flush_spill(spill, spilled, &out);
	common_bytes_free(&out);
	return status;
}

/* ---- reading ----------------------------------------------------------------------------------------- */

bool format_spilled_more(const struct format_spilled *spilled)
{
	return spilled->left || spilled->from < spilled->filled;
}

static size_t window_size(const struct format_spill *spill)
{
	const size_t share = spill->streams ? WINDOWS / spill->streams : WINDOW;

	return share > WINDOW ? WINDOW : share < WINDOW_MIN ? WINDOW_MIN : share;
}

/* Reads at least `needed` bytes into the window. */
static int load_spilled(const struct format_spill *spill, struct format_spilled *spilled, size_t needed)
{
	size_t n = spilled->filled - spilled->from;
	int status;

	if (n >= needed)
		return 0;
	if (n)
		memmove(spilled->window, spilled->window + spilled->from, n);
	spilled->from = 0;
	spilled->filled = n;
	if (needed > spilled->room) {
		status = COMMON_VECTOR_RESERVE(spilled->window, spilled->room,
					       needed > window_size(spill) ? needed : window_size(spill), "events");
		if (status < 0)
			return status;
	}
	n = spilled->left < spilled->room - n ? (size_t)spilled->left : spilled->room - n;
	status = common_read_at(spill->fd, spilled->window + spilled->filled, n, spilled->at);
	spilled->at += n;
	spilled->left -= n;
	spilled->filled += n;
	return status;
}

int format_spilled_time(struct format_spill *spill, struct format_spilled *spilled, uint64_t *time)
{
	struct ptl_event event;
	int status = load_spilled(spill, spilled, 8);

	if (!status)
		status = load_spilled(spill, spilled, 8 + common_load64(spilled->window + spilled->from));
	if (status)
		return status;
	memcpy(&event, spilled->window + spilled->from + 8, sizeof(event));
	*time = event.time;
	return 0;
}

void format_spilled_next(struct format_spilled *spilled, struct ptl_event *event)
{
	uint8_t *data = spilled->window + spilled->from;

	*event = format_event_unpack(data + 8);
	spilled->from += 8 + common_load64(data);
}

void format_spilled_free(struct format_spilled *spilled)
{
	free(spilled->window);
	*spilled = (struct format_spilled){0};
}

void format_spill_free(struct format_spill *spill)
{
	if (spill->is_open)
		close(spill->fd);
	*spill = (struct format_spill){0};
}
