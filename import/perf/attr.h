/* SPDX-License-Identifier: BSD-2-Clause */
/* The events that perf recorded, and how the parts of their records lie. */
#ifndef IMPORT_PERF_ATTR_H
#define IMPORT_PERF_ATTR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/event_header.h>

#include "common/hash_map.h"
#include "import/perf/file.h"

#define PERF_NAME_MAX (sizeof("user_events:") - 1 + PTL_TRACEPOINT_NAME_MAX) /* the longest there is */

struct perf_attr {
	uint32_t type;
	uint64_t config;
	uint64_t sample_type;
	uint64_t read_format;
	uint64_t flags;
	uint64_t branches;  /* branch_sample_type */
	uint64_t registers; /* masks of the registers in a sample: of the user, and at the interrupt */
	uint64_t interrupt_registers;
	uint64_t sample_period; /* the same for all samples, which need not say it; 0: the kernel chose it each time */
	int32_t clockid;
	char name[PERF_NAME_MAX]; /* as perf shows it */
};

/* All events of a file. Zero-initialised is empty. */
struct perf_attrs {
	struct perf_attr *list;
	size_t count;
	size_t capacity;
	struct common_hash_map ids; /* of the kernel: index in list */
	bool have_stacks;           /* samples of some have copies of stacks */
};

/* 64-bit words within a sample. */
struct perf_words {
	const uint8_t *data;
	size_t count;
};

/* Counters that were read with a sample: value, then id and number of lost samples if read_format has them. */
struct perf_counters {
	const uint8_t *data;
	size_t count;
	uint64_t format; /* of the attribute */
	uint64_t time_enabled, time_running;
};

struct perf_registers {
	uint64_t abi;            /* 0: there are none */
	struct perf_words words; /* of the attribute's mask, the lowest bit first */
};

/* A counter that was read. */
struct perf_counter {
	uint64_t value;
	uint64_t id; /* 0: that of the sample */
	uint64_t lost;
};

/* What a record says besides its body, or a sample within it. Absent parts are 0, or as noted. */
struct perf_sample {
	const struct perf_attr *attr; /* NULL: unknown */
	bool has_time;
	uint64_t time;
	uint32_t pid; /* PTL_NO_ID: absent */
	uint32_t tid;
	uint32_t cpu; /* PTL_NO_CPU: absent */
	uint64_t id;
	/* Of samples alone: */
	bool user; /* the CPU executed user code */
	bool has_ip;
	uint64_t ip;
	uint64_t address;
	uint64_t period;
	const uint8_t *callchain; /* callchain_count 64-bit words */
	size_t callchain_count;
	const uint8_t *raw;
	size_t raw_size;
	struct perf_counters counters;
	struct perf_words branches; /* three for each: from, to, flags */
	uint64_t branch_index;
	struct perf_words branch_counters;
	struct perf_registers registers, interrupt_registers;
	bool has_stack; /* a copy of the user's stack */
	const uint8_t *stack;
	size_t stack_size;
	uint64_t weight, data_source, transaction, physical_address, cgroup, data_page_size, code_page_size;
	const uint8_t *rest; /* AUX data, or parts that only newer kernels have */
	size_t rest_size;
};

/* A counter of those of a sample, i < counters->count. */
struct perf_counter perf_counter_at(const struct perf_counters *counters, size_t i);

/* The event that a kernel's id belongs to; NULL: none. */
const struct perf_attr *perf_attrs_find(const struct perf_attrs *attrs, uint64_t id);

void perf_attrs_free(struct perf_attrs *attrs);

/* Reads the table of a file that is no pipe. PTL_CORRUPT, PTL_TRUNCATED, PTL_NO_MEMORY, PTL_SYSTEM. */
int perf_attrs_read(struct perf_attrs *attrs, const struct perf_file *file);

/* A HEADER_ATTR record: an attribute and its ids. PTL_CORRUPT, PTL_NO_MEMORY. */
int perf_attrs_record(struct perf_attrs *attrs, const struct perf_record *record);

/* The name of a tracepoint by its number: the body of a HEADER_EVENT_TYPE record, or an entry of the table of an old file. */
void perf_attrs_event_type(struct perf_attrs *attrs, const uint8_t *data, size_t size);

/* Gives an event the name that perf has for its type and config, until the file names the event. */
void perf_attr_name(struct perf_attr *attr);

/* An attribute as EVENT_DESC repeats it, with its name and ids: gives those of the table names. */
void perf_attrs_name(struct perf_attrs *attrs, size_t index, const char *name, size_t length);

/*
 * Takes a kernel record's trailer, or a sample, apart. *body is made shorter by the trailer. PTL_CORRUPT where
 * the record is too short for what its attribute says.
 */
int perf_sample_parse(const struct perf_attrs *attrs, const struct perf_record *record, struct perf_sample *sample,
		      size_t *body);

#endif
