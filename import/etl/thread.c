/* SPDX-License-Identifier: BSD-2-Clause */
/* Tracks the running thread of each CPU by context switches. */
#include "import/etl/thread.h"

#include <stdlib.h>

#include <ptl/trace.h>

#include "common/bytes.h"
#include "common/error.h"
#include "import/etl/file/layout.h"
#include "import/etl/stack_internal.h"

#define THREADS_MAX 1000000u
#define CPUS_AT_ONCE 64u
#define SWITCH 36u /* opcodes of the thread group */
#define COMPRESSED_SWITCH 37u
#define SAMPLE 46u /* opcodes of the performance group */
#define COUNTER_SAMPLE 47u
#define STACK_PROCESS_AT 8u /* offset in the payload of a stack */

static const struct etl_running unknown = {PTL_NO_ID, PTL_NO_ID};

void etl_threads_free(struct etl_threads *threads)
{
	common_hash_map_free(&threads->pids);
	free(threads->cpus);
	*threads = (struct etl_threads){0};
}

/* Parses an event that tells the process of a thread. */
static bool read_life(const struct etl_record *record, uint32_t *pid, uint32_t *tid)
{
	const bool swapped = record->descriptor.version == 0;

	if (record->kind != ETL_KIND_SYSTEM || record->hook >> 8 != ETL_GROUP_THREAD || record->descriptor.opcode < 1 ||
	    record->descriptor.opcode > 4 || record->payload_size < 8)
		return false;
	*pid = common_load32(record->payload + (swapped ? 4 : 0));
	*tid = common_load32(record->payload + (swapped ? 0 : 4));
	return true;
}

static int put_thread(struct etl_threads *threads, uint32_t tid, uint32_t pid)
{
	return threads->pids.used < THREADS_MAX ? common_hash_map_put(&threads->pids, tid, pid) : 0;
}

int etl_threads_survey(struct etl_threads *threads, const struct etl_record *record)
{
	uint32_t pid, tid;

	if (!read_life(record, &pid, &tid) || common_hash_map_get(&threads->pids, tid))
		return 0;
	return put_thread(threads, tid, pid);
}

/*
 * ---- running threads ------------------------------------------------------------------------------------------------
 */

static int set_running(struct etl_threads *threads, uint32_t cpu, const struct etl_running *running)
{
	if (cpu >= threads->cpu_count) {
		const size_t count = (cpu / CPUS_AT_ONCE + 1) * CPUS_AT_ONCE;
		struct etl_running *cpus = realloc(threads->cpus, count * sizeof(*cpus));

		if (!cpus)
			return common_fail_memory("CPUs", count * sizeof(*cpus));
		for (size_t i = threads->cpu_count; i < count; i++)
			cpus[i] = unknown;
		threads->cpus = cpus;
		threads->cpu_count = count;
	}
	threads->cpus[cpu] = *running;
	return 0;
}

void etl_threads_forget(struct etl_threads *threads, uint32_t cpu)
{
	if (cpu < threads->cpu_count)
		threads->cpus[cpu] = unknown;
}

void etl_threads_forget_all(struct etl_threads *threads)
{
	for (uint32_t cpu = 0; cpu < threads->cpu_count; cpu++)
		etl_threads_forget(threads, cpu);
}

/*
 * ---- threads of events ----------------------------------------------------------------------------------------------
 */

static struct etl_running thread_of(const struct etl_threads *threads, uint32_t tid)
{
	const uint64_t *pid = tid ? common_hash_map_get(&threads->pids, tid) : NULL;

	/* Thread 0 of process 0 is the idle thread of each CPU. */
	return (struct etl_running){!tid ? 0 : pid ? (uint32_t)*pid : PTL_NO_ID, tid};
}

static void set_thread(struct etl_record *record, const struct etl_running *running)
{
	record->pid = running->pid;
	record->tid = running->tid;
}

static int follow_switch(struct etl_threads *threads, uint32_t cpu, struct etl_record *record)
{
	struct etl_running running;

	if (record->descriptor.opcode == COMPRESSED_SWITCH)
		etl_threads_forget(threads, cpu);
	if (record->descriptor.opcode != SWITCH || record->payload_size < 4)
		return 0;
	running = thread_of(threads, common_load32(record->payload));
	if (record->tid == PTL_NO_ID)
		set_thread(record, &running);
	return set_running(threads, cpu, &running);
}

static void take_told(const struct etl_threads *threads, struct etl_record *record)
{
	const uint8_t opcode = record->descriptor.opcode;
	const unsigned group = record->hook >> 8;

	if (group == ETL_GROUP_PERFINFO && (opcode == SAMPLE || opcode == COUNTER_SAMPLE) &&
	    record->payload_size >= record->pointer_size + 4u) {
		const struct etl_running running = thread_of(threads,
							     common_load32(record->payload + record->pointer_size));

		set_thread(record, &running);
	} else if (group == ETL_GROUP_STACK &&
		   (opcode == ETL_STACK || opcode == ETL_STACK_KEY_KERNEL || opcode == ETL_STACK_KEY_USER) &&
		   record->payload_size >= STACK_PROCESS_AT + 8) {
		record->pid = common_load32(record->payload + STACK_PROCESS_AT);
		record->tid = common_load32(record->payload + STACK_PROCESS_AT + 4);
	}
}

int etl_threads_follow(struct etl_threads *threads, const struct etl_buffer *buffer, struct etl_record *record)
{
	const uint32_t cpu = buffer->cpu;
	uint32_t pid, tid;

	if (record->kind != ETL_KIND_SYSTEM)
		return 0;
	if (read_life(record, &pid, &tid))
		return put_thread(threads, tid, pid);
	if (record->hook >> 8 == ETL_GROUP_THREAD) {
		int status = follow_switch(threads, cpu, record);

		if (status)
			return status;
	}
	if (record->header != ETL_PERFINFO32 && record->header != ETL_PERFINFO64)
		return 0;
	if (record->tid == PTL_NO_ID)
		take_told(threads, record);
	if (record->tid == PTL_NO_ID && record->hook >> 8 != ETL_GROUP_STACK && cpu < threads->cpu_count &&
	    threads->cpus[cpu].tid != PTL_NO_ID) {
		set_thread(record, &threads->cpus[cpu]);
		record->tid_inferred = true;
	}
	return 0;
}
