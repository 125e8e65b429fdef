/* SPDX-License-Identifier: BSD-2-Clause */
/* Fields of samples besides address, period, calls and raw data: the event SampleDetail behind a sample. */
#ifndef DUMP_EXPORT_PERF_PERF_DETAIL_H
#define DUMP_EXPORT_PERF_PERF_DETAIL_H

#include <stdbool.h>

#include <ptl/event.h>

#include "common/bytes.h"

/* Registers of a sample, in the order of the mask's bits. */
struct dump_perf_registers {
	uint64_t abi; /* 0: none */
	uint64_t mask;
	const uint8_t *words; /* 8 bytes each */
	size_t count;
};

struct dump_perf_detail {
	const char *name; /* of the sample's event */
	bool has_counters;
	const uint8_t *branches; /* 24 bytes each: from, to, flags */
	size_t branch_count;
	uint64_t branch_index;
	const uint8_t *branch_counters; /* 8 bytes each */
	size_t branch_counter_count;
	struct dump_perf_registers user, interrupt;
	uint64_t weight, data_source, transaction, physical_address, cgroup, data_page_size, code_page_size;
	bool has_rest; /* fields of a newer kernel */
};

/* Fields that the samples of an event have. */
struct dump_perf_shape {
	uint64_t sample_type; /* bits of perf_event_attr */
	uint64_t branches;    /* branch_sample_type */
	uint64_t user_mask, interrupt_mask;
};

/* Reads an event SampleDetail. Pointers lie in the event's payload. Returns false if the payload is damaged. */
bool dump_perf_detail_read(const struct ptl_event *event, struct dump_perf_detail *detail);

/* Adds the fields of a sample to the shape. The masks of all samples with the shape are equal. */
void dump_perf_detail_widen(const struct dump_perf_detail *detail, struct dump_perf_shape *shape);

/* Appends the fields of the shape behind a sample's raw data. detail: NULL if the sample has none of the fields. */
void dump_perf_detail_put(const struct dump_perf_detail *detail, const struct dump_perf_shape *shape,
			  struct ptl_bytes *body);

#endif
