/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Virtual machines of a trace that ptl-relog made of output of perf inject --guest-data. perf gets the records of a
 * virtual machine in the same form: with ids of events that ID_INDEX assigns to virtual CPUs.
 */
#ifndef DUMP_EXPORT_PERF_PERF_GUEST_H
#define DUMP_EXPORT_PERF_PERF_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/event.h>

/* A virtual CPU. */
struct dump_perf_vcpu {
	uint32_t machine; /* index of the machine, from 1 on */
	uint32_t cpu;     /* number in the machine */
	uint32_t pid;     /* process of the host that runs the machine */
	uint32_t tid;     /* thread of the host that runs the virtual CPU */
};

/* Zero-initialised: none. */
struct dump_perf_guests {
	struct dump_perf_vcpu *vcpus; /* owned; in order of the machines */
	size_t count;
	uint32_t machines;
};

/* Adds the virtual CPUs of an event IdIndex of Linux-Perf. Ignores other events. Returns PTL_NO_MEMORY. */
int dump_perf_guests_note(struct dump_perf_guests *guests, const struct ptl_event *event);
/* Returns the virtual machine that a number of a process, thread or CPU belongs to; 0: none. */
uint32_t dump_perf_guests_machine(const struct dump_perf_guests *guests, uint32_t id);
/* Whether the process is the kernel of a virtual machine. */
bool dump_perf_guests_is_kernel(const struct dump_perf_guests *guests, uint32_t pid);
/* Returns the index of a virtual CPU by its number in the trace; of the machine's first virtual CPU if unknown. */
size_t dump_perf_guests_find(const struct dump_perf_guests *guests, uint32_t machine, uint32_t cpu);
/* Returns the process of the host that runs the machine. */
uint32_t dump_perf_guests_pid(const struct dump_perf_guests *guests, uint32_t machine);
void dump_perf_guests_free(struct dump_perf_guests *guests);

#endif
