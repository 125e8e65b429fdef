/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds threads of events whose header has no thread: events of the kernel's performance group. */
#ifndef IMPORT_ETL_THREAD_H
#define IMPORT_ETL_THREAD_H

#include "common/hash_map.h"
#include "import/etl/file/record.h"

struct etl_running {
	uint32_t pid, tid; /* PTL_NO_ID: unknown */
};

/* Zero-initialised: empty. */
struct etl_threads {
	struct common_hash_map pids; /* tid: pid of the latest thread with the tid; before any, of the first */
	struct etl_running *cpus;    /* running thread by CPU */
	size_t cpu_count;
};

void etl_threads_free(struct etl_threads *threads);
/*
 * Notes threads of the whole file before its events are read: some threads are named only at the end. Returns
 * PTL_NO_MEMORY.
 */
int etl_threads_survey(struct etl_threads *threads, const struct etl_record *record);
/*
 * Tracks the running thread of each CPU, and gives a record without a thread its thread. Samples, context switches and
 * stacks name the thread in the payload. Other events (interrupts, DPCs, system calls ...) get the running thread of
 * their CPU, and record->tid_inferred is set. Returns PTL_NO_MEMORY.
 */
int etl_threads_follow(struct etl_threads *threads, const struct etl_buffer *buffer, struct etl_record *record);
/* Call if events of a CPU are missing: its running thread is unknown until the next context switch. */
void etl_threads_forget(struct etl_threads *threads, uint32_t cpu);
/* As etl_threads_forget, for all CPUs. */
void etl_threads_forget_all(struct etl_threads *threads);

#endif
