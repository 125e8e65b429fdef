/* SPDX-License-Identifier: BSD-2-Clause */
/* What the sideband's two files share: rings give records, and those make processes. */
#ifndef RECORD_KERNEL_SIDEBAND_STATE_H
#define RECORD_KERNEL_SIDEBAND_STATE_H

#include "common/hash_map.h"
#include "record/kernel/sideband.h"

/* A record, copied out of its ring. */
struct record_told {
	uint64_t time;
	uint64_t arrival; /* order of records with the same time */
	void *data;       /* owned */
	size_t size;
};

struct record_task {
	struct record_past past; /* steps are this structure's own */
	struct record_step *steps;
	size_t capacity;
	uint64_t threads; /* that live */
};

struct record_sideband {
	struct record_ring *rings; /* one for each CPU */
	size_t ring_count;
	int64_t clock_offset;     /* what this process's clock is ahead of the kernel's, in nanoseconds */
	struct record_told *told; /* not in order */
	size_t told_count, told_capacity;
	uint64_t arrivals;
	struct common_hash_map tasks; /* pid: struct record_task * */
};

/* Takes one record into the processes. PTL_NO_MEMORY, or what ended returns. */
int record_sideband_apply(struct record_sideband *sideband, const struct record_told *told,
			  int (*ended)(void *context, const struct record_past *past), void *context, uint64_t *lost);
void record_task_free(struct record_task *task);
/* When a process that lives started; false: that was not told, or it is not known. */
bool record_sideband_task_start(const struct record_sideband *sideband, uint32_t pid, uint64_t *start);
/* Whether the record tells that this process started. */
bool record_told_is_start(const struct record_told *told, uint32_t pid);
/* The time in a record; 0 for one that has none. */
uint64_t record_told_time(const void *data, size_t size);

#endif
