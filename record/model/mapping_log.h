/* SPDX-License-Identifier: BSD-2-Clause */
/* History of the executable memory of a process, for reporting a forked child's memory in events. */
#ifndef RECORD_MODEL_MAPPING_LOG_H
#define RECORD_MODEL_MAPPING_LOG_H

#include <stddef.h>
#include <stdint.h>

#include <ptl/kernel.h>

/* A loaded image. Logs share images; an image never changes. */
struct record_image {
	unsigned references;
	struct ptl_image_event data; /* process_id is unused; file_name is owned */
};

/* Returns a copy of data and its file_name with one reference; NULL without memory. */
struct record_image *record_image_new(const struct ptl_image_event *data);
struct record_image *record_image_keep(struct record_image *image);
void record_image_drop(struct record_image *image);

enum record_change_kind {
	RECORD_CHANGE_LOAD,
	RECORD_CHANGE_UNLOAD,
	RECORD_CHANGE_PROTECT,
	RECORD_CHANGE_CODE,
	RECORD_CHANGE_CLEAR, /* exec: all earlier changes are void */
};

struct record_change {
	enum record_change_kind kind;
	uint32_t protection; /* PROTECT */
	uint64_t epoch;      /* epoch that the change begins; changes are sorted by epoch */
	uint64_t base;
	uint64_t size;               /* not 0, and base + size - 1 does not wrap, except for CLEAR */
	struct record_image *image;  /* LOAD */
	uint8_t code[PTL_HASH_SIZE]; /* CODE */
};

/* Zero-initialised: empty. */
struct record_log {
	struct record_change *changes;
	size_t count;
	size_t capacity;
};

void record_log_free(struct record_log *log);

/* Appends a change. Takes over the reference to the image, even after a failure. Fails with PTL_NO_MEMORY. */
int record_log_add(struct record_log *log, const struct record_change *change);

/*
 * Removes changes that later changes up to `epoch` have undone. A replay of the rest gives the same memory at any epoch
 * from `epoch` on. Fails with PTL_NO_MEMORY, without a change.
 */
int record_log_prune(struct record_log *log, uint64_t epoch);

/* Sets *copy, which was empty, to the shortest log of the memory at `epoch`. Fails with PTL_NO_MEMORY. */
int record_log_copy(const struct record_log *log, uint64_t epoch, struct record_log *copy);

#endif
