/* SPDX-License-Identifier: BSD-2-Clause */
/* The events that perf recorded, and the layout of their records. */
#ifndef IMPORT_PERF_ATTR_H
#define IMPORT_PERF_ATTR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/event_header.h>

#include "common/hash_map.h"
#include "import/perf/file.h"

#define PERF_NAME_MAX (sizeof("user_events:") - 1 + PTL_TRACEPOINT_NAME_MAX) /* length of the longest name */

struct perf_attr {
	uint32_t type;
	uint64_t config;
	uint64_t sample_type;
	uint64_t read_format;
	uint64_t flags;
	uint64_t branches;  /* branch_sample_type */
	uint64_t registers; /* masks of the registers in a sample: registers of user mode, and at the interrupt */
	uint64_t interrupt_registers;
	uint64_t sample_period; /* period of all samples, which then lack the period; 0: the kernel chose each period */
	int32_t clockid;
	char name[PERF_NAME_MAX]; /* name as perf shows the event */
};

/* All events of a file. Zero-initialised: no events. */
struct perf_attrs {
	struct perf_attr *list;
	size_t count;
	size_t capacity;
	struct common_hash_map ids; /* kernel's event id: index in list */
	bool have_stacks;           /* samples of some events have stack copies */
};

/* A sequence of 64-bit words in a sample. */
struct perf_words {
	const uint8_t *data;
	size_t count;
};

/* Counters that were read with a sample: value, then id and number of lost samples if read_format has these bits. */
struct perf_counters {
	const uint8_t *data;
	size_t count;
	uint64_t format; /* read_format of the attribute */
	uint64_t time_enabled, time_running;
};

struct perf_registers {
	uint64_t abi;            /* 0: no registers */
	uint64_t mask;           /* bits of the registers */
	struct perf_words words; /* registers of the mask, lowest bit first */
};

/* Value of a counter in a sample. */
struct perf_counter {
	uint64_t value;
	uint64_t id; /* 0: id of the sample */
	uint64_t lost;
};

/* Fields of a record's trailer, or of a sample. Missing fields are 0, unless noted. */
struct perf_sample {
	const struct perf_attr *attr; /* NULL: unknown event */
	bool has_time;
	uint64_t time;
	uint32_t pid; /* PTL_NO_ID: missing */
	uint32_t tid;
	uint32_t cpu; /* PTL_NO_CPU: missing */
	uint64_t id;
	uint32_t machine; /* index of a virtual machine; 0: the recorded machine */
	/* Samples only: */
	bool user;  /* the CPU was executing user code */
	bool guest; /* the CPU was executing code of a virtual machine */
	bool exact; /* ip is the address of the very instruction */
	bool has_ip;
	uint64_t ip;
	uint64_t address;
	uint64_t period;
	const uint8_t *callchain; /* callchain_count 64-bit words */
	size_t callchain_count;
	const uint8_t *raw;
	size_t raw_size;
	struct perf_counters counters;
	struct perf_words branches; /* three words per branch: from, to, flags */
	uint64_t branch_index;
	struct perf_words branch_counters;
	struct perf_registers registers, interrupt_registers;
	bool has_stack; /* the sample has a copy of the user stack */
	const uint8_t *stack;
	size_t stack_size;
	uint64_t weight, data_source, transaction, physical_address, cgroup, data_page_size, code_page_size;
	const uint8_t *packets; /* of Intel PT (perf record --aux-sample) */
	size_t packets_size;
	const uint8_t *rest; /* fields of newer kernels */
	size_t rest_size;
};

/* Returns counter i of a sample; i < counters->count. */
struct perf_counter perf_counter_at(const struct perf_counters *counters, size_t i);

/* Returns the event with a kernel's id; NULL: no such event. */
const struct perf_attr *perf_attrs_find(const struct perf_attrs *attrs, uint64_t id);

void perf_attrs_free(struct perf_attrs *attrs);

/*
 * Reads the attribute table of a file that was not a pipe. Returns PTL_CORRUPT, PTL_TRUNCATED, PTL_NO_MEMORY,
 * PTL_SYSTEM.
 */
int perf_attrs_read(struct perf_attrs *attrs, const struct perf_file *file);

/* Adds the attribute and ids of a HEADER_ATTR record. Returns PTL_CORRUPT, PTL_NO_MEMORY. */
int perf_attrs_record(struct perf_attrs *attrs, const struct perf_record *record);

/*
 * Notes the name of a tracepoint number. data: body of a HEADER_EVENT_TYPE record, or an entry of an old file's table.
 */
void perf_attrs_event_type(struct perf_attrs *attrs, const uint8_t *data, size_t size);

/* Sets the default name of an event, by type and config as perf does. The file may name the event later. */
void perf_attr_name(struct perf_attr *attr);

/* Sets the name of event `index`, from an EVENT_DESC entry. */
void perf_attrs_name(struct perf_attrs *attrs, size_t index, const char *name, size_t length);

/*
 * Parses a kernel record's trailer, or a sample. Subtracts the trailer from *body. Returns PTL_CORRUPT if the record is
 * too short for its attribute.
 */
int perf_sample_parse(const struct perf_attrs *attrs, const struct perf_record *record, struct perf_sample *sample,
		      size_t *body);

#endif
