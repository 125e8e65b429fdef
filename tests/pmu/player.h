/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the player share. */
#ifndef TESTS_PMU_PLAYER_H
#define TESTS_PMU_PLAYER_H

#include "tests/pmu/pmu.h"

#define PMU_READER_TIME 20000 /* milliseconds that the reader may take for something */
#define PMU_BODY_MAX 8192

/* Who, when and where: behind each record. Numbers are those that were recorded. */
struct pmu_ids {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu;
};

/* A script that is under way. */
struct pmu_play {
	pid_t child;    /* 0: none */
	uint64_t start; /* in the kernel's clock */
	uint8_t *packets;
	size_t size;
};
extern struct pmu_play pmu_playing;

void pmu_sleep_a_little(void);

/* ---- player_processes.c: processes that are really there */

/* The number that the process or thread has now. */
uint32_t pmu_real(uint32_t recorded);
void pmu_add_process(uint32_t recorded, uint32_t number);
/* The n-th child of the command, or itself, once it is there. */
void pmu_take_process(uint32_t recorded, unsigned n);
void pmu_wait_for_name(pid_t pid, const char *name);

/* ---- player_packets.c: packets of a file */

void pmu_load_packets(const char *name);
/* TSC packets, which count nanoseconds from base on, get times from the script's beginning on. */
void pmu_load_timed(uint64_t base, const char *name);

/* ---- player_rings.c: records */

/* The ring of a CPU's Intel PT, or of -cpu's thread. */
struct pmu_event *pmu_ring_of(int cpu);
/* Of records of processes. */
struct pmu_event *pmu_ring_of_processes(void);
/* Of changes of the kernel's code. */
struct pmu_event *pmu_ring_of_code(void);
struct perf_event_mmap_page *pmu_page_of(const struct pmu_event *event);
/* The kernel wakes the reader. */
void pmu_wake(const struct pmu_event *event);
/* Bytes as they are. */
void pmu_put(struct pmu_event *event, const void *data, size_t size);
void pmu_record(struct pmu_event *event, uint32_t type, uint16_t misc, const void *body, size_t size,
		const struct pmu_ids *ids);

/* ---- player_aux.c: packets into AUX areas */

void pmu_play_aux(int cpu, size_t first, size_t end, uint64_t flags, const struct pmu_ids *ids);
/* So many bytes into the area of each of the first CPUs, at this rate; 0: as fast as they are taken. */
void pmu_play_flood(unsigned cpus, uint64_t rate, uint64_t bytes, const struct pmu_ids *ids);
void pmu_play_burst(int cpu, size_t first, size_t end, const struct pmu_ids *ids);

#endif
