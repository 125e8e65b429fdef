/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of virtual machines in perf.data of a host: perf inject --guest-data adds them, and tells their machines in
 * ID_INDEX. Each virtual machine becomes a machine of the trace with ids of its own.
 */
#ifndef IMPORT_PERF_GUEST_H
#define IMPORT_PERF_GUEST_H

#include <ptl/trace.h>
#include <ptl/writer.h>

#include "common/hash_map.h"
#include "import/perf/attr.h"
#include "import/perf/file.h"

/* An event of a virtual machine. */
struct perf_guest_event {
	uint32_t machine; /* index of the machine, from 1 on */
	uint32_t cpu;     /* virtual CPU; PTL_NO_CPU: unknown */
	uint32_t thread;  /* thread of the host that runs the virtual CPU; PTL_NO_ID: unknown */
};

struct perf_guests {
	struct common_hash_map ids;     /* id of an event: index in events, plus 1 */
	struct common_hash_map threads; /* thread of the host: index in events, plus 1 */
	struct perf_guest_event *events;
	size_t event_count;
	uint32_t pids[PTL_MACHINE_MAX]; /* by machine, from 1 on: process that runs the virtual machine */
	uint32_t count;                 /* machines */
	uint8_t *body;                  /* copy of the last record, with ids of its machine */
};

/* Reads an ID_INDEX record. Returns PTL_CORRUPT (too many machines), PTL_NO_MEMORY. */
int perf_guests_index(struct perf_guests *guests, const struct perf_record *record);

/* Whether an ID_INDEX record names virtual machines. */
bool perf_guests_named(const struct perf_record *record);

/*
 * If the record is of a virtual machine: sets sample->machine, and replaces the ids of processes, threads and CPUs in
 * *sample and in *record, whose body becomes a copy that is valid until the next call. Returns PTL_NO_MEMORY.
 */
int perf_guests_move(struct perf_guests *guests, struct perf_record *record, struct perf_sample *sample, size_t body);

/* Whether a thread of the host runs a virtual CPU. *cpu: number of the virtual CPU, with the number of the machine. */
bool perf_guests_runs(const struct perf_guests *guests, uint32_t tid, uint32_t *cpu);

/* Returns a host's id as the machine's id. Ids that name nothing stay. */
uint32_t perf_guests_id(uint32_t machine, uint32_t id);

/*
 * Writes a machine record for each virtual machine, like the host's record: perf inject has converted times to the
 * host's clock. Returns the errors of ptl_writer_machine.
 */
int perf_guests_write(const struct perf_guests *guests, const struct ptl_machine *host, struct ptl_writer *writer);

void perf_guests_free(struct perf_guests *guests);

#endif
