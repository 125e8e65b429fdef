/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library that stands in for Intel PT under perf_event_open(2), for machines that have none: loaded into an unchanged
 * ptl-record with LD_PRELOAD, it shows a driver in sysfs, refuses what the kernel would refuse, and plays recorded
 * packets and records through real ring mappings. $PTL_PMU is a folder:
 *
 *   intel_pt/   what is shown for /sys/bus/event_source/devices/intel_pt
 *   online      what is shown for /sys/devices/system/cpu/online, if it is there
 *   kernel/     what is shown for /proc/kcore, /proc/kallsyms, /sys/kernel/notes and /sys/module
 *   old         1: a kernel that does not count what an event loses
 *   script      what is played: tests/pmu/player.c
 *   log         written: calls with what they asked for
 *   done        written when all has been played
 */
#ifndef TESTS_PMU_PMU_H
#define TESTS_PMU_PMU_H

#include <linux/perf_event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PMU_EVENTS_MAX 256

/* An event that was opened. */
struct pmu_event {
	bool used;
	int fd; /* an eventfd, which becomes readable when the kernel would wake */
	struct perf_event_attr attr;
	pid_t pid;
	int cpu;
	bool enabled;
	uint64_t starts; /* how often it was enabled */
	int memory;      /* a memfd with the rings; -1: not mapped */
	uint8_t *page;   /* our own mapping of the first page and the records */
	size_t data_size;
	uint8_t *aux;
	size_t aux_size;
	bool overwrites;
	struct pmu_event *output; /* whose rings it writes into */
	uint64_t aux_head;        /* as far as records say */
	uint64_t lost;            /* records for which there was no room */
	uint64_t unsaid;          /* of these, in no PERF_RECORD_LOST yet */
};

extern struct pmu_event pmu_events[PMU_EVENTS_MAX];
extern pthread_mutex_t pmu_lock;

/* The driver's type, and what mult and shift make of a TSC. */
extern uint32_t pmu_type;
extern struct pmu_clock {
	uint64_t zero;
	uint32_t mult;
	uint16_t shift;
} pmu_clock;

const char *pmu_folder(void);
void pmu_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Says what is wrong with a script or with a caller, and ends the process. */
void pmu_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
uint64_t pmu_now(void);

/* Plays the script, once: begins with the first event of Intel PT that is enabled, or the child's execve. */
void pmu_play(pid_t child);
bool pmu_has_played(void);
/* ptl-record opens a file: it is held there, if the script says so. */
void pmu_opens(const char *path);

#endif
