/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code without a file: read from the memory of a process when mapped, and again at each look, because the process may
 * change the code.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "record/capture/machine.h"
#include "record/clock/clock.h"
#include "record/observe/observer_state.h"

#define CODE_MAX ((size_t)64 << 20) /* bytes of a mapping */
#define CODE_PAGE 4096u

/* Reads from `base` on, as far as the process lives and has the memory. Returns the number of bytes. */
static size_t read_memory(uint32_t pid, uint64_t base, uint8_t *bytes, size_t size)
{
	size_t done = 0;
	char path[64];
	ssize_t got = 1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && done < size && got > 0) {
		got = base + done > INT64_MAX ? 0 : pread(fd, bytes + done, size - done, (off_t)(base + done));
		done += got > 0 ? (size_t)got : 0;
	}
	if (fd >= 0)
		close(fd);
	return done;
}

/* Stores a hash of a page. *is_new: set if the page has changed. */
static int note_page(struct record_observed *process, uint64_t address, const uint8_t *bytes, size_t size, bool *is_new)
{
	const uint64_t hash = common_hash_bytes(bytes, size);
	const uint64_t *known = common_hash_map_get(&process->code_pages, address);

	*is_new = !known || *known != hash;
	return *is_new ? common_hash_map_put(&process->code_pages, address, hash) : 0;
}

static int send_code(struct record_observer *observer, struct record_observed *process, uint64_t base,
		     const uint8_t *bytes, size_t size, uint64_t now)
{
	struct record_fact fact = record_observer_fact(process, RECORD_FACT_CODE, now);

	fact.epoch = ++process->epoch;
	fact.range.base = base;
	fact.range.size = size;
	fact.range.code = bytes;
	return record_observer_send(observer, &fact);
}

static size_t size_of(const struct record_observed_map *map)
{
	return map->size < CODE_MAX ? (size_t)map->size : CODE_MAX;
}

static bool is_wanted_map(const struct record_observer *observer, const struct record_observed_map *map, bool deleted)
{
	return observer->reads_code && observer->capture->settings->embed != ELF_EMBED_NONE && (!map->inode || deleted);
}

int record_observer_read_code(struct record_observer *observer, struct record_observed *process,
			      const struct record_observed_map *map, bool deleted, struct ptl_image_event *image)
{
	const uint8_t *vdso = observer->reads_code ? record_vdso_code(image) : NULL;
	const size_t size = size_of(map);
	bool is_new;
	uint8_t *bytes;
	int status = 0;
	size_t got;

	if (!vdso && (!is_wanted_map(observer, map, deleted) || image->has_code))
		return 0;
	bytes = malloc(size);
	if (!bytes)
		return common_fail_memory("code", size);
	if (vdso)
		memcpy(bytes, vdso, size);
	got = vdso ? size : read_memory(process->pid, map->base, bytes, size);
	if (got)
		status = record_capture_blob(observer->capture, PTL_BLOB_CODE, bytes, got, image->code);
	image->has_code = got != 0;
	observer->code_lost += got < size;
	for (size_t at = 0; status == 0 && at < got; at += CODE_PAGE)
		status = note_page(process, map->base + at, bytes + at, got - at < CODE_PAGE ? got - at : CODE_PAGE,
				   &is_new);
	free(bytes);
	return status;
}

int record_observer_read_again(struct record_observer *observer, struct record_observed *process,
			       const struct record_observed_map *map, bool deleted, uint64_t now)
{
	const size_t size = size_of(map);
	size_t got, first = 0;
	bool changed = false;
	uint8_t *bytes;
	int status = 0;

	if (!is_wanted_map(observer, map, deleted))
		return 0;
	bytes = malloc(size);
	if (!bytes)
		return common_fail_memory("code", size);
	got = read_memory(process->pid, map->base, bytes, size);
	/* Consecutive changed pages are one change. */
	for (size_t at = 0; status == 0 && at < got; at += CODE_PAGE) {
		const size_t part = got - at < CODE_PAGE ? got - at : CODE_PAGE;
		bool is_new;

		status = note_page(process, map->base + at, bytes + at, part, &is_new);
		if (status == 0 && changed && !is_new)
			status = send_code(observer, process, map->base + first, bytes + first, at - first, now);
		first = is_new && !changed ? at : first;
		changed = is_new;
	}
	if (status == 0 && changed)
		status = send_code(observer, process, map->base + first, bytes + first, got - first, now);
	free(bytes);
	return status;
}

int record_observer_lose_code(struct record_observer *observer)
{
	const struct ptl_loss loss = {
		.kind = PTL_LOSS_CODE,
		.stream = PTL_NO_ID,
		.pid = PTL_NO_ID,
		.tid = PTL_NO_ID,
		.count = observer->code_lost,
		.first_time = record_now(),
		.cause = "code in memory of no file was gone, or not to be read, when it was looked at",
	};

	return observer->code_lost ? record_capture_loss(observer->capture, &loss) : 0;
}
