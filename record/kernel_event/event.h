/* SPDX-License-Identifier: BSD-2-Clause */
/* An event of -e: a tracepoint, a function of a program, or a counter, opened on each CPU by perf_event_open(2). */
#ifndef RECORD_KERNEL_EVENT_EVENT_H
#define RECORD_KERNEL_EVENT_EVENT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/text/string_list.h"
#include "perf/tracing.h"

#define KERNEL_EVENT_FILTER " if " /* before the filter */

struct kernel_event {
	char *name;  /* name as -e gives it, without the filter; owned */
	char *shown; /* name in the trace, "SYSTEM:EVENT" or a counter without terms; owned; NULL: same as `name` */
	const char *filter; /* part of `name` behind " if "; NULL: no filter */
	uint32_t type;      /* perf_event_attr.type; config to config2 likewise */
	uint64_t config, config1, config2;
	uint64_t period; /* events per sample; if `frequency`: samples per second */
	bool frequency;  /* `period` is a frequency */
	bool samples;    /* a counter: samples have an address and no raw bytes */
	bool user_only;  /* samples exclude the kernel, since this user may not see its code */
	bool everyone;   /* opened for all processes, not only for recorded processes */
	uint64_t number; /* number of the format; 0 for a counter */
	char *path;      /* path that config1 points to; owned; or NULL */
	/* event created in tracefs for this recording (record/kernel_event/uprobe_event.h); owned; or NULL */
	char *made;
	bool stack;
	bool dwarf;      /* unwind user stacks from copies (record/kernel_event/unwind.h) */
	unsigned values; /* number of the probe of --values, plus one; 0: no such probe */
	bool named;      /* requested by -e, not only by flags */
	int *fds;        /* descriptors by CPU; -1: CPU switched off; NULL: event turned off */
	/* samples in [since, until) of the trace's clock count; an event of the same name has the rest */
	uint64_t since, until;
	const struct format_event_kind *kind; /* format that all samples share; NULL: each sample is checked alone */
	uint64_t kind_pass;                   /* value of kernel_events.pass at the time `kind` was set */
};

/*
 * Reads "SYSTEM:EVENT" or an event of record/kernel_event/kinds.h, with an optional " if FILTER", and adds the format.
 * stacks: name patterns of events whose samples have call chains.
 * Errors: PTL_MISUSE, PTL_NOT_FOUND (unknown to the kernel), PTL_SYSTEM, PTL_NO_MEMORY.
 */
int kernel_event_parse(const char *text, const struct common_string_list *stacks, struct perf_tracing *tracing,
		       struct kernel_event *event);
void kernel_event_free(struct kernel_event *event, size_t cpus);
/*
 * Makes the event inheritable: a uprobe of the PMU, which would fail fork, becomes an event of tracefs. PTL_SYSTEM,
 * PTL_NO_MEMORY.
 */
int kernel_event_make_inheritable(struct kernel_event *event, struct perf_tracing *tracing);

/*
 * Returns whether a pattern matches the event's name of -e or of the trace.
 * *dwarf: whether a matching pattern also asks for unwinding by DWARF, for programs without frame pointers.
 */
bool kernel_event_has_stack(const struct kernel_event *event, const struct common_string_list *stacks, bool *dwarf);

/* Returns whether the event has the name; the filter does not count. */
bool kernel_event_is(const struct kernel_event *event, const char *name);

/*
 * Opens the event on a CPU, turned off, with output into the ring of another event.
 * all: for all processes. Else the event follows the processes that this process starts next and turns on with execve,
 * unless the event is for everyone.
 * Returns the descriptor. Errors: PTL_SYSTEM, PTL_MISUSE (wrong filter).
 */
int kernel_event_open(struct kernel_event *event, int cpu, int ring, bool all);

/*
 * Opens the event that owns the ring of a CPU. The event writes no records of its own.
 * at_once: the ring wakes the reader with each sample; else when half full.
 * switches: the event also reports context switches.
 * Errors: PTL_NOT_FOUND (the CPU is switched off), PTL_SYSTEM.
 */
int kernel_event_open_ring(int cpu, bool at_once, bool all, bool switches);

/* Fields of a sample. */
struct kernel_event_sample {
	uint64_t id;
	uint64_t ip, period; /* of counters only; else 0 */
	uint64_t time;
	uint32_t pid, tid, cpu;
	const uint8_t *callchain; /* words of 64 bits */
	size_t callchain_count;
	const uint8_t *raw;
	size_t raw_size;
	const uint8_t *registers; /* words of 64 bits, one for each of ELF_UNWIND_REGISTERS; NULL: none */
	const uint8_t *stack;     /* copy of memory from the stack pointer on; NULL: none */
	size_t stack_size;
};

/* Reads the id of the event that wrote the sample. False if the record is too short. */
bool kernel_event_sample_id(const struct perf_event_header *record, uint64_t *id);
/* Reads a sample of the event. False if the record is malformed. */
bool kernel_event_sample_read(const struct kernel_event *event, const struct perf_event_header *record,
			      struct kernel_event_sample *sample);

#endif
