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
	uint64_t sample_period; /* the same for all samples, which need not say it; 0: the kernel chose it each time */
	int32_t clockid;
	char name[PERF_NAME_MAX]; /* as perf shows it; "" unknown */
};

/* All events of a file. Zero-initialised is empty. */
struct perf_attrs {
	struct perf_attr *list;
	size_t count;
	size_t capacity;
	struct common_hash_map ids; /* of the kernel: index in list */
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
	bool has_ip;
	uint64_t ip;
	uint64_t address;
	uint64_t period;
	const uint8_t *callchain; /* callchain_count 64-bit words */
	size_t callchain_count;
	const uint8_t *raw;
	size_t raw_size;
	const uint8_t *rest; /* parts behind those that are taken apart here */
	size_t rest_size;
};

void perf_attrs_free(struct perf_attrs *attrs);

/* Reads the table of a file that is no pipe. PTL_CORRUPT, PTL_TRUNCATED, PTL_NO_MEMORY, PTL_SYSTEM. */
int perf_attrs_read(struct perf_attrs *attrs, const struct perf_file *file);

/* A HEADER_ATTR record: an attribute and its ids. PTL_CORRUPT, PTL_NO_MEMORY. */
int perf_attrs_record(struct perf_attrs *attrs, const struct perf_record *record);

/* An attribute as EVENT_DESC repeats it, with its name and ids: gives those of the table names. */
void perf_attrs_name(struct perf_attrs *attrs, size_t index, const char *name, size_t length);

/*
 * Takes a kernel record's trailer, or a sample, apart. *body is made shorter by the trailer. PTL_CORRUPT where
 * the record is too short for what its attribute says.
 */
int perf_sample_parse(const struct perf_attrs *attrs, const struct perf_record *record, struct perf_sample *sample,
		      size_t *body);

#endif
