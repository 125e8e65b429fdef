/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations shared by the files of the player. */
#ifndef TESTS_PMU_PLAYER_H
#define TESTS_PMU_PLAYER_H

#include "tests/pmu/pmu.h"

#define PMU_READER_TIME 20000 /* milliseconds that the reader may take for an action */
#define PMU_BODY_MAX 8192

/* Ids, time and CPU behind each record, as in the recording. */
struct pmu_ids {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu;
};

/* The running script. */
struct pmu_play {
	pid_t child;    /* 0: no child */
	uint64_t start; /* kernel's clock at the start */
	uint8_t *packets;
	size_t size;
};
extern struct pmu_play pmu_playing;

void pmu_sleep_a_little(void);

/* ---- player_processes.c: processes that are really there */

/* Returns the current number of a recorded process or thread. */
uint32_t pmu_real(uint32_t recorded);
void pmu_add_process(uint32_t recorded, uint32_t number);
/* Waits for the command (n = 0) or its n-th child, and pairs it with a recorded process. */
void pmu_take_process(uint32_t recorded, unsigned n);
void pmu_wait_for_name(pid_t pid, const char *name);

/* ---- player_packets.c: packets of a file */

void pmu_load_packets(const char *name);
/*
 * Loads a file of packets. TSC packets count nanoseconds from `base` on, and get times from the script's beginning on.
 */
void pmu_load_timed(uint64_t base, const char *name);

/* ---- player_rings.c: records */

/* The ring of a CPU's Intel PT, or of -cpu's thread. */
struct pmu_event *pmu_ring_of(int cpu);
/* Returns the event for records of processes. */
struct pmu_event *pmu_ring_of_processes(void);
/* Returns the event for changes of the kernel's code. */
struct pmu_event *pmu_ring_of_code(void);
struct perf_event_mmap_page *pmu_page_of(const struct pmu_event *event);
/* Wakes the reader as the kernel does. */
void pmu_wake(const struct pmu_event *event);
/* Puts raw bytes into the ring. */
void pmu_put(struct pmu_event *event, const void *data, size_t size);
void pmu_record(struct pmu_event *event, uint32_t type, uint16_t misc, const void *body, size_t size,
		const struct pmu_ids *ids);

/* Puts a sample without a trailer. */
void pmu_sample(struct pmu_event *event, const void *body, size_t size);

/* ---- player_aux.c: packets into AUX areas */

/* An event of the CPU with this action happens: its group's packets are paused or resumed, and a sample tells so. */
void pmu_play_hit(int cpu, uint32_t action, const struct pmu_ids *ids);

void pmu_play_aux(int cpu, size_t first, size_t end, uint64_t flags, const struct pmu_ids *ids);
/*
 * Puts `bytes` bytes into the area of each of the first CPUs, `rate` bytes per second; 0: as fast as the reader reads.
 */
void pmu_play_flood(unsigned cpus, uint64_t rate, uint64_t bytes, const struct pmu_ids *ids);
void pmu_play_burst(int cpu, size_t first, size_t end, const struct pmu_ids *ids);

#endif
