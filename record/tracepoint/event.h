/* SPDX-License-Identifier: BSD-2-Clause */
/* What -e names: a tracepoint, a function of a program, or a counter, as perf_event_open(2) opens it on each CPU. */
#ifndef RECORD_TRACEPOINT_EVENT_H
#define RECORD_TRACEPOINT_EVENT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/text/string_list.h"
#include "import/perf/tracing.h"

#define TRACEPOINT_FILTER " if " /* before the filter */

struct tracepoint_event {
	char *name;  /* as -e gives it, without its filter; owned */
	char *shown; /* how the trace calls it, "SYSTEM:EVENT" or a counter without terms; owned; NULL: as in name */
	const char *filter; /* NULL: none; behind the name */
	uint32_t type;      /* and config: as perf_event_attr has them */
	uint64_t config, config1, config2;
	uint64_t period; /* or samples a second */
	bool frequency;  /* it is the latter */
	bool samples;    /* of a counter: there are no raw bytes, but the place */
	bool user_only;  /* the kernel's code is not permitted */
	bool everyone;   /* it is of all processes, not of the wanted ones alone */
	uint64_t number; /* of its format; 0: samples */
	char *path;      /* that config1 points to; owned; or NULL */
	char *made;      /* in tracefs, for this recording: record/tracepoint/uprobe_event.h; owned; or NULL */
	bool stack;
	bool dwarf;            /* of programs by copies of their stacks: record/tracepoint/unwind.h */
	bool named;            /* -e has asked for it, and not flags alone */
	int *fds;              /* by CPU; -1: not there; NULL: it is turned off */
	uint64_t since, until; /* of the trace's clock: samples before, and from then on, are another's */
	const struct format_event_kind *kind; /* NULL: its samples are looked at one by one */
	uint64_t kind_pass;                   /* tracepoints.pass, when that was found out */
};

/*
 * Reads "SYSTEM:EVENT", also with " if FILTER" behind it, or what record/tracepoint/kinds.h has, and adds its format. stacks: patterns of names whose samples have call
 * chains. PTL_MISUSE, PTL_NOT_FOUND (the kernel has it not), PTL_SYSTEM, PTL_NO_MEMORY.
 */
int tracepoint_event_parse(const char *text, const struct common_string_list *stacks, struct perf_tracing *tracing,
			   struct tracepoint_event *event);
void tracepoint_event_free(struct tracepoint_event *event, size_t cpus);

/* Whether a pattern matches the event, as -e or as the trace calls it; *dwarf: stacks of programs without frame pointers, too. */
bool tracepoint_event_has_stack(const struct tracepoint_event *event, const struct common_string_list *stacks,
				bool *dwarf);

/* Whether the name, without a filter, is the event's. */
bool tracepoint_event_is(const struct tracepoint_event *event, const char *name);

/*
 * Opens it on a CPU, turned off, writing into the ring of another event; all: of all processes, else of what this one starts next,
 * and it turns on with execve, unless it is of everyone. PTL_SYSTEM, PTL_MISUSE (the filter is wrong).
 */
int tracepoint_event_open(struct tracepoint_event *event, int cpu, int ring, bool all);

/*
 * Opens the event that a CPU's ring belongs to, which writes nothing itself. The ring wakes its reader when it is half full, or with
 * each sample.
 * PTL_NOT_FOUND: the CPU is switched off; PTL_SYSTEM.
 */
int tracepoint_event_open_ring(int cpu, bool at_once, bool all);

/* What a sample says. */
struct tracepoint_sample {
	uint64_t id;
	uint64_t ip, period; /* of a counter */
	uint64_t time;
	uint32_t pid, tid, cpu;
	const uint8_t *callchain; /* words of 64 bits */
	size_t callchain_count;
	const uint8_t *raw;
	size_t raw_size;
	const uint8_t *registers; /* words of 64 bits: ELF_UNWIND_REGISTERS; NULL: none */
	const uint8_t *stack;     /* what lies from the stack pointer on */
	size_t stack_size;
};

/* The event that wrote the sample, which the record begins with; false: it is too short. */
bool tracepoint_sample_id(const struct perf_event_header *record, uint64_t *id);
/* Reads a sample of the event; false: it is not as it should be. */
bool tracepoint_sample_read(const struct tracepoint_event *event, const struct perf_event_header *record,
			    struct tracepoint_sample *sample);

#endif
