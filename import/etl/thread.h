/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads of events whose header has none: those of the kernel's performance group. */
#ifndef IMPORT_ETL_THREAD_H
#define IMPORT_ETL_THREAD_H

#include "common/hash_map.h"
#include "import/etl/file/record.h"

struct etl_running {
	uint32_t pid, tid; /* PTL_NO_ID: unknown */
};

/* Zero-initialised is empty. */
struct etl_threads {
	struct common_hash_map pids; /* by thread: of the latest one with that id, or the first where none has come */
	struct etl_running *cpus;    /* the thread that runs on each */
	size_t cpu_count;
};

void etl_threads_free(struct etl_threads *threads);
/* What the whole file reports threads, before its events are taken: those that it names at its end only. PTL_NO_MEMORY. */
int etl_threads_survey(struct etl_threads *threads, const struct etl_record *record);
/*
 * Follows what runs on each CPU. A record without a thread gets one: samples, context switches and stacks say theirs in
 * the payload; others (interrupts, DPCs, system calls ...) get the one that the last context switch of their CPU reported,
 * and record->tid_inferred. PTL_NO_MEMORY.
 */
int etl_threads_follow(struct etl_threads *threads, const struct etl_buffer *buffer, struct etl_record *record);
/* Some events of a CPU are missing: what runs there is unknown until the next context switch. */
void etl_threads_forget(struct etl_threads *threads, uint32_t cpu);
/* Of all CPUs. */
void etl_threads_forget_all(struct etl_threads *threads);

#endif
