/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library that simulates Intel PT under perf_event_open(2) on machines without Intel PT. LD_PRELOAD loads the library
 * into an unchanged ptl-record. The library shows a driver in sysfs, refuses requests as the kernel does, and plays
 * recorded packets and records through real ring mappings. $PTL_PMU is a folder with these files:
 *
 *   intel_pt/   replaces /sys/bus/event_source/devices/intel_pt
 *   online      replaces /sys/devices/system/cpu/online, if present
 *   kernel/     replaces /proc/kcore, /proc/kallsyms, /sys/kernel/notes and /sys/module
 *   old         1: the kernel does not count lost records
 *   no_pause    an error that the kernel returns for a pause of packets: EINVAL before Linux 6.13, EOPNOTSUPP for a
 *               driver without the capability
 *   script      the script to play: tests/pmu/player.c
 *   log         written by the library: calls with arguments
 *   done        written at the end of the script
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
/* Bits of perf_event_attr.aux_action, which older headers lack. */
#define PMU_START_PAUSED 1u
#define PMU_PAUSE 2u
#define PMU_RESUME 4u

/* An open event. */
struct pmu_event {
	bool used;
	int fd; /* eventfd; readable when the kernel would wake the reader */
	struct perf_event_attr attr;
	pid_t pid;
	int cpu;
	bool enabled;
	uint64_t starts; /* number of times the event was enabled */
	int memory;      /* a memfd with the rings; -1: not mapped */
	uint8_t *page;   /* the library's mapping of first page and record ring */
	size_t data_size;
	uint8_t *aux;
	size_t aux_size;
	bool overwrites;
	struct pmu_event *output; /* event whose rings are used */
	uint64_t aux_head;        /* AUX head according to the records */
	uint64_t lost;            /* number of records without room */
	uint64_t unsaid;          /* lost records not yet reported by PERF_RECORD_LOST */
	uint32_t action;          /* bits of perf_event_attr.aux_action */
	struct pmu_event *leader; /* event whose packets the action pauses or resumes */
	int real;                 /* with a leader: event of the kernel with the same attributes, without the action */
	bool paused;              /* Intel PT: no packets, although enabled */
};

extern struct pmu_event pmu_events[PMU_EVENTS_MAX];
extern pthread_mutex_t pmu_lock;

/* The driver's type, and the TSC's conversion by mult and shift. */
extern uint32_t pmu_type;
extern struct pmu_clock {
	uint64_t zero;
	uint32_t mult;
	uint16_t shift;
} pmu_clock;

/* Returns the event's id, as in its samples. */
#define PMU_FIRST_ID 100
uint64_t pmu_id(const struct pmu_event *event);

/* Returns how often the kernel counted the events with this action. */
uint64_t pmu_count(uint32_t action);

const char *pmu_folder(void);
void pmu_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints an error of a script or caller, and ends the process. */
void pmu_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
uint64_t pmu_now(void);

/* Plays the script once, starting with the first enabled Intel PT event or the child's execve. */
void pmu_play(pid_t child);
bool pmu_has_played(void);
/* Called when ptl-record opens a file: holds ptl-record if the script asks for that. */
void pmu_opens(const char *path);

#endif
