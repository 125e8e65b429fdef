/* SPDX-License-Identifier: BSD-2-Clause */
/* Gives processes, threads and CPUs of virtual machines ids of their machine. */
#include "import/perf/guest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/vector.h"
#include "perf/layout.h"

#define BODY_MAX 65536u /* bytes of a record */
#define MAPPING_BASE 8u /* offset of the address in MMAP and MMAP2 */
#define KERNEL_BIT (1ull << 63)

/* Finds the machine that a process runs, or adds the machine. Returns PTL_CORRUPT for more machines than a trace has. */
static int find_machine(struct perf_guests *guests, uint32_t pid, uint32_t *machine)
{
	for (*machine = 1; *machine <= guests->count; (*machine)++)
		if (guests->pids[*machine - 1] == pid)
			return 0;
	if (guests->count == PTL_MACHINE_MAX)
		return common_fail(PTL_CORRUPT, "more than %u virtual machines", PTL_MACHINE_MAX);
	guests->pids[guests->count++] = pid;
	return 0;
}

/* Notes the virtual CPU that a thread runs. A thread runs a single virtual CPU, whose events are alike. */
static int add_thread(struct perf_guests *guests, const struct perf_guest_event *event)
{
	if (event->cpu == PTL_NO_CPU || event->thread == PTL_NO_ID ||
	    common_hash_map_get(&guests->threads, event->thread))
		return 0;
	return common_hash_map_put(&guests->threads, event->thread, guests->event_count);
}

/* entry: the first part of an entry. guest: the second part. */
static int add_event(struct perf_guests *guests, const uint8_t *entry, const uint8_t *guest)
{
	const uint64_t id = common_load64(entry), thread = common_load64(entry + PERF_INDEX_THREAD);
	const uint64_t pid = common_load64(guest), cpu = common_load64(guest + 8);
	struct perf_guest_event event = {.cpu = cpu < PTL_MACHINE_IDS ? (uint32_t)cpu : PTL_NO_CPU,
					 .thread = thread < PTL_NO_ID ? (uint32_t)thread : PTL_NO_ID};
	int status;

	if (!pid || pid >= UINT32_MAX || common_hash_map_get(&guests->ids, id))
		return 0;
	status = find_machine(guests, (uint32_t)pid, &event.machine);
	if (status)
		return status;
	if (!common_vector_room(&guests->events, guests->event_count, sizeof(event)))
		return common_fail_memory("events of virtual machines", (guests->event_count + 1) * sizeof(event));
	guests->events[guests->event_count] = event;
	status = common_hash_map_put(&guests->ids, id, ++guests->event_count);
	return status ? status : add_thread(guests, &event);
}

/*
 * Returns the number of entries of an ID_INDEX record. 0 if the record does not have both parts of all entries: perf before
 * 6.0 writes no second part.
 */
static size_t count_entries(const struct perf_record *record)
{
	const uint64_t count = record->size >= 8 ? common_load64(record->body) : 0;

	return count && count <= (record->size - 8) / (PERF_INDEX_ENTRY + PERF_INDEX_GUEST) ? (size_t)count : 0;
}

int perf_guests_index(struct perf_guests *guests, const struct perf_record *record)
{
	const size_t count = count_entries(record);
	int status = 0;

	for (size_t i = 0; !status && i < count; i++)
		status = add_event(guests, record->body + 8 + i * PERF_INDEX_ENTRY,
				   record->body + 8 + count * PERF_INDEX_ENTRY + i * PERF_INDEX_GUEST);
	return status;
}

bool perf_guests_named(const struct perf_record *record)
{
	const size_t count = count_entries(record);

	for (size_t i = 0; i < count; i++)
		if (common_load64(record->body + 8 + count * PERF_INDEX_ENTRY + i * PERF_INDEX_GUEST))
			return true;
	return false;
}

bool perf_guests_runs(const struct perf_guests *guests, uint32_t tid, uint32_t *cpu)
{
	const uint64_t *index = common_hash_map_get(&guests->threads, tid);
	const struct perf_guest_event *event = index ? &guests->events[*index - 1] : NULL;

	if (event)
		*cpu = perf_guests_id(event->machine, event->cpu);
	return event != NULL;
}

uint32_t perf_guests_id(uint32_t machine, uint32_t id)
{
	return id < PTL_MACHINE_IDS ? id + machine * PTL_MACHINE_IDS : PTL_NO_ID;
}

/* Replaces the ids at the beginning of a body. A mapping of process 0 in the kernel's half is the kernel's: process -1. */
static void move_body(uint32_t type, uint32_t machine, uint8_t *body, size_t size)
{
	const bool maps = type == PERF_RECORD_MMAP || type == PERF_RECORD_MMAP2;
	const size_t ids = type == PERF_RECORD_FORK || type == PERF_RECORD_EXIT ? 4 : 2;

	if (size < 4 * ids || (maps && size < MAPPING_BASE + 8))
		return;
	if (maps && !common_load32(body) && common_load64(body + MAPPING_BASE) & KERNEL_BIT)
		common_store32(body, UINT32_MAX);
	for (size_t i = 0; i < ids; i++) {
		const uint32_t id = common_load32(body + 4 * i);

		/* Process 0 has no parent. */
		if (id || ids == 2)
			common_store32(body + 4 * i, perf_guests_id(machine, id));
	}
}

static bool has_ids(uint32_t type)
{
	return type == PERF_RECORD_MMAP || type == PERF_RECORD_MMAP2 || type == PERF_RECORD_COMM ||
	       type == PERF_RECORD_FORK || type == PERF_RECORD_EXIT || type == PERF_RECORD_SWITCH_CPU_WIDE;
}

int perf_guests_move(struct perf_guests *guests, struct perf_record *record, struct perf_sample *sample, size_t body)
{
	const uint64_t *index = guests->count && sample->id ? common_hash_map_get(&guests->ids, sample->id) : NULL;
	const struct perf_guest_event *event;

	if (!index)
		return 0;
	event = &guests->events[*index - 1];
	sample->machine = event->machine;
	sample->pid = perf_guests_id(event->machine, sample->pid);
	sample->tid = perf_guests_id(event->machine, sample->tid);
	/* perf inject writes the host's CPU. */
	if (sample->cpu != PTL_NO_CPU)
		sample->cpu = perf_guests_id(event->machine, event->cpu != PTL_NO_CPU ? event->cpu : sample->cpu);
	if (!has_ids(record->type) || record->size > BODY_MAX)
		return 0;
	if (!guests->body)
		guests->body = malloc(BODY_MAX);
	if (!guests->body)
		return common_fail_memory("a record", BODY_MAX);
	memcpy(guests->body, record->body, record->size);
	move_body(record->type, event->machine, guests->body, body);
	record->body = guests->body;
	return 0;
}

int perf_guests_write(const struct perf_guests *guests, const struct ptl_machine *host, struct ptl_writer *writer)
{
	int status = 0;

	for (uint32_t i = 0; !status && i < guests->count; i++) {
		struct ptl_machine machine = *host;

		machine.index = (uint16_t)(i + 1);
		machine.cpus = 0;
		machine.kernel[0] = machine.boot_id[0] = 0;
		machine.pid_namespace = 0;
		snprintf(machine.hostname, sizeof(machine.hostname), "virtual machine of process %u", guests->pids[i]);
		status = ptl_writer_machine(writer, &machine);
	}
	return status;
}

void perf_guests_free(struct perf_guests *guests)
{
	common_hash_map_free(&guests->ids);
	common_hash_map_free(&guests->threads);
	free(guests->events);
	free(guests->body);
	*guests = (struct perf_guests){0};
}
