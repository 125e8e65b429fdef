/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel's own events (perf_event_open(2)) tell of a command and its descendants: every
 * process, however short it lives, with its programs and the code that it maps.
 *
 * No packets and no samples are asked for: a dummy event that all descendants inherit carries the
 * kernel's records of fork, exec, mmap and exit, with the trace's own clock.
 */
#ifndef RECORD_KERNEL_SIDEBAND_H
#define RECORD_KERNEL_SIDEBAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record_sideband;

enum record_step_kind { RECORD_STEP_EXEC, RECORD_STEP_MAP };

/* What a process did, in order. */
struct record_step {
	enum record_step_kind kind;
	uint64_t time;
	uint64_t base; /* RECORD_STEP_MAP: executable memory */
	uint64_t size;
	uint64_t file_offset;
	uint64_t device; /* as the kernel shows it in /proc/PID/maps */
	uint64_t inode;  /* 0: of no file */
	uint32_t protection;
	char *name; /* the program's name, at most 15 bytes; the path that was mapped */
};

/* A process that has ended. */
struct record_past {
	uint32_t pid;
	uint32_t parent;
	uint64_t start;
	uint64_t end;
	const struct record_step *steps;
	size_t step_count;
	size_t inherited;    /* the first of them: what its parent had when it forked */
	bool parent_is_same; /* the parent has not executed another program since */
};

/*
 * Opens the kernel's events for what this process starts next: they begin with the execve of its
 * child. PTL_SYSTEM, with what refused it in the chain, where the kernel does not permit it;
 * PTL_NO_MEMORY.
 */
int record_sideband_open(struct record_sideband **sideband);
void record_sideband_close(struct record_sideband *sideband);

/*
 * Takes what the kernel has told up to now, and calls ended for each process that has ended; with
 * all, nothing is left for the next time. *lost grows by the records that the kernel had no room
 * for. PTL_NO_MEMORY, or what ended returns.
 */
int record_sideband_take(struct record_sideband *sideband, uint64_t now, bool all,
			 int (*ended)(void *context, const struct record_past *past), void *context, uint64_t *lost);

/*
 * When a process that lives, or whose end was not taken yet, started; of several with this pid the last one.
 * False: the kernel has not told of its start.
 */
bool record_sideband_start(struct record_sideband *sideband, uint32_t pid, uint64_t *start);

/*
 * One record as the kernel writes it, header included: for tests. Each has the time and, for exec and
 * mmap, the ids behind it (sample_id_all with PERF_SAMPLE_TID and PERF_SAMPLE_TIME). A record that
 * makes no sense is left out.
 */
struct record_sideband *record_sideband_new(void);
int record_sideband_put(struct record_sideband *sideband, const void *record, size_t size);

#endif
