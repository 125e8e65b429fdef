/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What happened to the executable memory of one process, so that a forked child's can be reported in
 * events.
 */
#ifndef RECORD_MODEL_MAPPING_LOG_H
#define RECORD_MODEL_MAPPING_LOG_H

#include <stddef.h>
#include <stdint.h>

#include <ptl/kernel.h>

/* An image as it was loaded. Shared by the logs that hold it; never changed. */
struct record_image {
	unsigned references;
	struct ptl_image_event data; /* process_id is not used; file_name is owned */
};

/* A copy of data with one reference, its file_name included; NULL without memory. */
struct record_image *record_image_new(const struct ptl_image_event *data);
struct record_image *record_image_keep(struct record_image *image);
void record_image_drop(struct record_image *image);

enum record_change_kind {
	RECORD_CHANGE_LOAD,
	RECORD_CHANGE_UNLOAD,
	RECORD_CHANGE_PROTECT,
	RECORD_CHANGE_CODE,
	RECORD_CHANGE_CLEAR, /* exec: nothing before it is there any more */
};

struct record_change {
	enum record_change_kind kind;
	uint32_t protection; /* PROTECT */
	uint64_t epoch;      /* that it begins; changes come in order of epochs */
	uint64_t base;
	uint64_t size;               /* not 0, and base + size - 1 does not wrap, but for CLEAR */
	struct record_image *image;  /* LOAD */
	uint8_t code[PTL_HASH_SIZE]; /* CODE */
};

/* Zero-initialised is empty. */
struct record_log {
	struct record_change *changes;
	size_t count;
	size_t capacity;
};

void record_log_free(struct record_log *log);

/* Appends; takes over the reference to an image, in failure too. PTL_NO_MEMORY. */
int record_log_add(struct record_log *log, const struct record_change *change);

/*
 * Removes what a later change up to and including `epoch` has undone, so that replaying the rest
 * still gives the same memory at any epoch from this one on. PTL_NO_MEMORY: nothing was removed.
 */
int record_log_prune(struct record_log *log, uint64_t epoch);

/*
 * Makes *copy (empty) the shortest log that gives the memory as it was at `epoch`. PTL_NO_MEMORY.
 */
int record_log_copy(const struct record_log *log, uint64_t epoch, struct record_log *copy);

#endif
