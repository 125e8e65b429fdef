/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kernel reports (perf_event_open(2)) about a command and its descendants, or about running programs: every process and
 * thread, however short its life, with programs, names and executable mappings.
 *
 * The event is a dummy event without packets or samples, and all descendants inherit the event. The event delivers
 * kernel records of fork, exec, comm, mmap and exit, with the trace's clock.
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
	RECORD_SIDEBAND_NONE,   /* uninteresting or invalid */
	RECORD_SIDEBAND_FORK,   /* tid starts; a thread if parent_pid equals pid */
	RECORD_SIDEBAND_EXIT,   /* tid ends */
	RECORD_SIDEBAND_NAME,   /* new name of tid */
	RECORD_SIDEBAND_EXEC,   /* pid executes a program of this name, and loses all other threads */
	RECORD_SIDEBAND_MAP,    /* executable memory */
	RECORD_SIDEBAND_LOST,   /* the kernel lacked room for records */
	RECORD_SIDEBAND_SAMPLE, /* tid of pid reached the probe */
	RECORD_SIDEBAND_SYMBOL, /* the kernel made or freed code: size bytes at base, with this name */
	RECORD_SIDEBAND_CODE,   /* the kernel changed its code */
	RECORD_SIDEBAND_SIGNAL, /* tid took a signal whose default action ends the process; if the kernel permits */
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
	uint64_t device; /* device number as in /proc/PID/maps */
	uint64_t inode;  /* 0 without a file */
	uint32_t protection;
	uint64_t lost;
	uint32_t signal;     /* SIGNAL */
	int32_t signal_code; /* SIGNAL: si_code of sigaction(2) */
	bool is_gone;        /* SYMBOL */
	const uint8_t *code; /* CODE: size bytes */
	/* NAME, EXEC: at most 15 bytes; MAP: path of the mapping; SYMBOL: name of the code; else "" */
	const char *name;
	/* owned by the consumer: facts found while the record waited */
	struct ptl_bytes note;
};

/* A uprobe: the beginning or the return of a function. */
struct record_sideband_probe {
	const char *path;
	uint64_t offset; /* offset in the file */
	bool is_return;
};

/*
 * Targets of kernel reports: threads and their future children, or everything if the only thread is -1. With a count of
 * 0 the rings wait for record_sideband_add.
 */
struct record_sideband_targets {
	const pid_t *threads;
	size_t count;
	bool programs_only;                        /* reports EXEC and NAME only */
	bool kernel_code;                          /* reports SYMBOL and CODE only */
	const struct record_sideband_probe *probe; /* reports SAMPLE only; NULL without a probe */
};

/*
 * Starts kernel reports. targets: reported from now on; NULL: the next child of this process from its execve on, with
 * its descendants.
 * Fails with PTL_SYSTEM and the cause if not permitted, or with PTL_NO_MEMORY.
 */
int record_sideband_open(const struct record_sideband_targets *targets, struct record_sideband **sideband);
void record_sideband_close(struct record_sideband *sideband);

/* Adds threads from now on. Skips ended threads. Fails with PTL_SYSTEM or PTL_NO_MEMORY. */
int record_sideband_add(struct record_sideband *sideband, const pid_t *threads, size_t count);
/* Closes the events of added threads that have ended, with all of their heirs. */
void record_sideband_drop_ended(struct record_sideband *sideband);

/* Calls add with each descriptor that becomes readable for new records, until add fails. */
int record_sideband_descriptors(const struct record_sideband *sideband, int (*add)(void *context, int fd),
				void *context);

/*
 * Reads all records so far. Each second, asks events for losses that the kernel has not reported, and makes records of
 * the losses. Fails with PTL_NO_MEMORY.
 */
int record_sideband_collect(struct record_sideband *sideband);
/* Asks events for losses now, before the last collection. Fails with PTL_NO_MEMORY. */
int record_sideband_collect_losses(struct record_sideband *sideband);

/*
 * Returns the next record by time, up to `until`, valid until the next call; NULL without a record. A record is
 * readable slightly after its time: an earlier record may still arrive within RECORD_SIDEBAND_DELAY, unless the causing
 * thread is known to have gone on.
 */
#define RECORD_SIDEBAND_DELAY 1000000u /* nanoseconds */
const struct record_sideband_record *record_sideband_next(struct record_sideband *sideband, uint64_t until);

/* Returns the time of the next record; UINT64_MAX without a collected record. */
uint64_t record_sideband_due(const struct record_sideband *sideband);

/* Returns the n-th waiting record in the order of collection; NULL behind the last record. */
struct record_sideband_record *record_sideband_waiting(struct record_sideband *sideband, size_t n);

/*
 * For tests: a sideband without events, and a record as written by the kernel, with its header. Each record ends with
 * ids and time (sample_id_all with PERF_SAMPLE_TID and PERF_SAMPLE_TIME). Fails with PTL_NO_MEMORY.
 */
struct record_sideband *record_sideband_new(void);
int record_sideband_put(struct record_sideband *sideband, const void *data, size_t size);

#endif
