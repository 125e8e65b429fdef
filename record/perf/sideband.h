/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel's own events (perf_event_open(2)) report of a command and its descendants, or of others that run already:
 * every process and thread, however short it lives, with its programs, its names and the code that it maps.
 *
 * No packets and no samples are asked for: a dummy event that all descendants inherit carries the kernel's records of
 * fork, exec, comm, mmap and exit, with the trace's own clock.
 */
#ifndef RECORD_PERF_SIDEBAND_H
#define RECORD_PERF_SIDEBAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/bytes.h"

struct record_sideband;

enum record_sideband_kind {
	RECORD_SIDEBAND_NONE,   /* of no interest, or it is invalid */
	RECORD_SIDEBAND_FORK,   /* tid starts; a thread if parent_pid is its pid */
	RECORD_SIDEBAND_EXIT,   /* tid ends */
	RECORD_SIDEBAND_NAME,   /* tid has this name from now on */
	RECORD_SIDEBAND_EXEC,   /* pid executes a program of this name, and has no other threads any more */
	RECORD_SIDEBAND_MAP,    /* executable memory */
	RECORD_SIDEBAND_LOST,   /* the kernel had no room for so many records */
	RECORD_SIDEBAND_SAMPLE, /* tid of pid came to the probe */
	RECORD_SIDEBAND_SYMBOL, /* the kernel made code: size bytes at base, of this name; or has given it up */
	RECORD_SIDEBAND_CODE,   /* the kernel changed its code */
};

struct record_sideband_record {
	enum record_sideband_kind kind;
	uint64_t time;
	uint32_t pid;
	uint32_t tid;
	uint32_t parent_pid; /* FORK, EXIT */
	uint32_t parent_tid;
	uint64_t base; /* MAP, SYMBOL, CODE */
	uint64_t size;
	uint64_t file_offset;
	uint64_t device; /* as the kernel shows it in /proc/PID/maps */
	uint64_t inode;  /* 0: of no file */
	uint32_t protection;
	uint64_t lost;
	bool is_gone;        /* SYMBOL */
	const uint8_t *code; /* CODE: size bytes */
	const char *name;    /* NAME, EXEC: at most 15 bytes; MAP: the path that was mapped; SYMBOL; else "" */
	/* The consumer's: what it has found out while the record waited for its turn. */
	struct ptl_bytes note;
};

/* Where a function begins, or when it returns: a uprobe. */
struct record_sideband_probe {
	const char *path;
	uint64_t offset; /* in the file */
	bool is_return;
};

/*
 * Whom the kernel's events are of: threads and what they start, or all that runs if the only one is -1. Without any
 * (count is 0) the rings are there, for those that record_sideband_add adds.
 */
struct record_sideband_targets {
	const pid_t *threads;
	size_t count;
	bool programs_only;                        /* no other records than EXEC and NAME */
	bool kernel_code;                          /* no other records than SYMBOL and CODE */
	const struct record_sideband_probe *probe; /* NULL: none; else no other records than SAMPLE */
};

/*
 * Opens the kernel's events. Without targets (NULL) they are of what this process starts next, and begin with the
 * execve of its child; of targets they begin at once. PTL_SYSTEM, with what refused it in the chain, where the kernel
 * does not permit it; PTL_NO_MEMORY.
 */
int record_sideband_open(const struct record_sideband_targets *targets, struct record_sideband **sideband);
void record_sideband_close(struct record_sideband *sideband);

/* The events are also of these threads, from now on; one that has ended is left out. PTL_SYSTEM, PTL_NO_MEMORY. */
int record_sideband_add(struct record_sideband *sideband, const pid_t *threads, size_t count);
/* Closes the events of threads that were added, and have ended with all that they started. */
void record_sideband_drop_ended(struct record_sideband *sideband);

/* Calls add with each descriptor that becomes readable when there are records; until it fails. */
int record_sideband_descriptors(const struct record_sideband *sideband, int (*add)(void *context, int fd),
				void *context);

/*
 * Takes what the kernel has written up to now. PTL_NO_MEMORY. What was lost is a record, too: each second, events are asked for what the
 * kernel has not said yet.
 */
int record_sideband_collect(struct record_sideband *sideband);
/* Asks them now: before the last collection. PTL_NO_MEMORY. */
int record_sideband_collect_losses(struct record_sideband *sideband);

/*
 * The next record in order of time, if it is not later than `until`; NULL: there is none yet. Good until the next call.
 * A record has its time a little before it can be collected: what happened less than RECORD_SIDEBAND_DELAY ago may still
 * be preceded by others, unless the thread that caused it is known to have gone on since.
 */
#define RECORD_SIDEBAND_DELAY 1000000u /* nanoseconds */
const struct record_sideband_record *record_sideband_next(struct record_sideband *sideband, uint64_t until);

/* The time of the next record; UINT64_MAX: none has been collected. */
uint64_t record_sideband_due(const struct record_sideband *sideband);

/* The n-th record that waits for its turn, in no order but that of collecting; NULL: there are not so many. */
struct record_sideband_record *record_sideband_waiting(struct record_sideband *sideband, size_t n);

/*
 * One record as the kernel writes it, header included: for tests. Each has the time and, for exec and
 * mmap, the ids behind it (sample_id_all with PERF_SAMPLE_TID and PERF_SAMPLE_TIME). PTL_NO_MEMORY.
 */
struct record_sideband *record_sideband_new(void);
int record_sideband_put(struct record_sideband *sideband, const void *data, size_t size);

#endif
