/* SPDX-License-Identifier: BSD-2-Clause */
/* perf.data being written: its header, its records. docs/perf-data.md. */
#ifndef DUMP_EXPORT_PERF_PERF_FILE_H
#define DUMP_EXPORT_PERF_PERF_FILE_H

#include <stdio.h>

#include <ptl/trace.h>

#include "common/bytes.h"

#define DUMP_PERF_BUILD_ID 20

struct dump_perf_file {
	FILE *file;
	uint64_t size;         /* of the records so far */
	bool switches;         /* records of context switches are there */
	bool per_cpu;          /* packets are those of CPUs */
	struct ptl_bytes body; /* of the record that is being made */
};

/* Whose a record is, and when. */
struct dump_perf_place {
	uint32_t pid, tid, cpu;
	uint64_t time;
};

/* Room for the header, which is written at the end, and what says how packets are to be decoded. */
void dump_perf_begin(struct dump_perf_file *file, const struct ptl_machine *machine, const char *filters);
void dump_perf_comm(struct dump_perf_file *file, const struct dump_perf_place *place, const char *name, bool exec);
/* The parent of a thread is its process. */
void dump_perf_fork(struct dump_perf_file *file, const struct dump_perf_place *place, uint32_t parent);
void dump_perf_exit(struct dump_perf_file *file, const struct dump_perf_place *place, uint32_t parent);

struct dump_perf_map {
	uint64_t base, size, offset;
	const char *name;
	uint8_t build_id[DUMP_PERF_BUILD_ID];
	bool has_build_id;
};

void dump_perf_mmap(struct dump_perf_file *file, const struct dump_perf_place *place, const struct dump_perf_map *map);
/* The CPU goes from one thread to another: two records. */
void dump_perf_switch(struct dump_perf_file *file, const struct dump_perf_place *from,
		      const struct dump_perf_place *to);
/* The head of a record of packets, which have to follow: a multiple of 8 bytes with their padding. */
void dump_perf_packets(struct dump_perf_file *file, uint64_t size, uint64_t position, uint64_t reference,
		       uint32_t number, uint32_t tid, uint32_t cpu);
/* Bytes of a record that are not in the record's own size. */
void dump_perf_raw(struct dump_perf_file *file, const void *data, size_t size);
/* What stands behind the records, and the header. PTL_SYSTEM, PTL_NO_MEMORY. */
int dump_perf_end(struct dump_perf_file *file, const struct ptl_machine *machine);

#endif
