/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps the changes of a process's executable memory, and drops changes that later changes undid. */
#include "record/model/mapping_log.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"
#include "record/model/ranges.h"

struct record_image *record_image_new(const struct ptl_image_event *data)
{
	struct record_image *image = malloc(sizeof(*image));

	if (!image)
		return NULL;
	image->references = 1;
	image->data = *data;
	image->data.file_name = strdup(data->file_name ? data->file_name : "");
	if (image->data.file_name)
		return image;
	free(image);
	return NULL;
}

struct record_image *record_image_keep(struct record_image *image)
{
	if (image)
		image->references++;
	return image;
}

void record_image_drop(struct record_image *image)
{
	if (!image || --image->references)
		return;
	free((char *)image->data.file_name);
	free(image);
}

void record_log_free(struct record_log *log)
{
	for (size_t i = 0; i < log->count; i++)
		record_image_drop(log->changes[i].image);
	free(log->changes);
	*log = (struct record_log){0};
}

int record_log_add(struct record_log *log, const struct record_change *change)
{
	if (COMMON_VECTOR_RESERVE(log->changes, log->capacity, log->count + 1, "changes of a process's memory")) {
		record_image_drop(change->image);
		return PTL_NO_MEMORY;
	}
	log->changes[log->count++] = *change;
	return 0;
}

/*
 * Addresses that later changes have covered: images by loads and unloads; protections and bytes also by changes of
 * their own kind.
 */
struct covered {
	struct record_ranges images;
	struct record_ranges protections;
	struct record_ranges bytes;
};

/* Checks whether later changes, which are in `covered`, have undone a change. Adds other changes to `covered`. */
static int judge(const struct record_change *change, struct covered *covered, bool *undone)
{
	struct record_ranges *own = change->kind == RECORD_CHANGE_CODE      ? &covered->bytes
				    : change->kind == RECORD_CHANGE_PROTECT ? &covered->protections
									    : &covered->images;
	const uint64_t last = change->base + (change->size - 1);
	int status;

	*undone = record_ranges_cover(own, change->base, last);
	if (*undone)
		return 0;
	status = record_ranges_add(own, change->base, last);
	if (own != &covered->images)
		return status;
	if (status == 0)
		status = record_ranges_add(&covered->protections, change->base, last);
	return status == 0 ? record_ranges_add(&covered->bytes, change->base, last) : status;
}

/* Marks undone changes among the first `count` changes, newest first. */
static int mark_undone(const struct record_log *log, size_t count, bool *undone)
{
	struct covered covered = {0};
	bool cleared = false;
	int status = 0;

	for (size_t i = count; status == 0 && i-- > 0;) {
		const struct record_change *change = &log->changes[i];

		if (cleared)
			undone[i] = true;
		else if (change->kind == RECORD_CHANGE_CLEAR)
			cleared = undone[i] = true;
		else
			status = judge(change, &covered, &undone[i]);
	}
	record_ranges_free(&covered.images);
	record_ranges_free(&covered.protections);
	record_ranges_free(&covered.bytes);
	return status;
}

/* Marks unloads of addresses without images. */
static int mark_idle_unloads(const struct record_log *log, size_t count, bool *undone)
{
	struct record_ranges there = {0};
	int status = 0;

	for (size_t i = 0; status == 0 && i < count; i++) {
		const struct record_change *change = &log->changes[i];
		const uint64_t last = change->base + (change->size - 1);

		if (undone[i])
			continue;
		if (change->kind == RECORD_CHANGE_UNLOAD)
			undone[i] = !record_ranges_touch(&there, change->base, last);
		else
			status = record_ranges_add(&there, change->base, last);
	}
	record_ranges_free(&there);
	return status;
}

static size_t count_up_to(const struct record_log *log, uint64_t epoch)
{
	size_t count = 0;

	while (count < log->count && log->changes[count].epoch <= epoch)
		count++;
	return count;
}

/* Returns marks for the first `count` changes in fresh memory; NULL without memory. */
static bool *find_undone(const struct record_log *log, size_t count)
{
	bool *undone = calloc(count ? count : 1, sizeof(*undone));

	if (!undone) {
		common_fail_memory("changes of a process's memory", count);
		return NULL;
	}
	if (mark_undone(log, count, undone) == 0 && mark_idle_unloads(log, count, undone) == 0)
		return undone;
	free(undone);
	return NULL;
}

int record_log_prune(struct record_log *log, uint64_t epoch)
{
	const size_t count = count_up_to(log, epoch);
	bool *undone = find_undone(log, count);
	size_t kept = 0;

	if (!undone)
		return PTL_NO_MEMORY;
	for (size_t i = 0; i < log->count; i++) {
		if (i < count && undone[i])
			record_image_drop(log->changes[i].image);
		else
			log->changes[kept++] = log->changes[i];
	}
	log->count = kept;
	free(undone);
	return 0;
}

int record_log_copy(const struct record_log *log, uint64_t epoch, struct record_log *copy)
{
	const size_t count = count_up_to(log, epoch);
	bool *undone = find_undone(log, count);
	int status = 0;

	if (!undone)
		return PTL_NO_MEMORY;
	for (size_t i = 0; status == 0 && i < count; i++) {
		if (undone[i])
			continue;
		record_image_keep(log->changes[i].image);
		status = record_log_add(copy, &log->changes[i]);
	}
	free(undone);
	if (status < 0)
		record_log_free(copy);
	return status;
}
