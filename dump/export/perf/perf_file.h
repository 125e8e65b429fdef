/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a perf.data file: header and records. See docs/perf-data.md. */
#ifndef DUMP_EXPORT_PERF_PERF_FILE_H
#define DUMP_EXPORT_PERF_PERF_FILE_H

#include <stdio.h>

#include <ptl/trace.h>

#include "common/bytes.h"
#include "dump/export/perf/perf_detail.h"
#include "dump/export/perf/perf_guest.h"

#define DUMP_PERF_BUILD_ID 20

#define DUMP_PERF_SOFTWARE 1u /* PERF_TYPE_SOFTWARE */
#define DUMP_PERF_DUMMY 9u    /* PERF_COUNT_SW_DUMMY: never counts */
/* PERF_TYPE_RAW: events without a number of perf. perf script prints no address of samples of the type dummy. */
#define DUMP_PERF_RAW 4u

/* An event with samples. */
struct dump_perf_attr {
	uint32_t type;
	uint64_t config;
	const char *name;                              /* must outlive the file */
	bool has_cpu, has_address, has_calls, has_raw; /* fields of its samples */
	struct dump_perf_shape shape;                  /* further fields of its samples */
};

struct dump_perf_file {
	FILE *file;
	uint64_t start;               /* time of the trace's start */
	uint64_t size;                /* bytes of records so far */
	bool switches;                /* has records of context switches */
	bool has_packets;             /* has Intel PT */
	bool per_cpu;                 /* packets belong to CPUs */
	struct ptl_bytes body;        /* of the current record */
	struct ptl_bytes tracing;     /* feature TRACING_DATA; empty: none */
	struct ptl_bytes programs;    /* feature BPF_PROG_INFO; empty: none */
	struct dump_perf_attr *attrs; /* events besides Intel PT, owned; event i has the id 2 + i */
	size_t attr_count;
	const struct dump_perf_guests
		*guests; /* their virtual CPUs have the ids behind the events' ids; may be empty */
};

/* Owner and time of a record. */
struct dump_perf_place {
	uint32_t pid, tid, cpu;
	uint64_t time;
};

/* Returns the time of a record. As in files of perf record, records of what exists at the start have no time: 0. */
static inline uint64_t dump_perf_time(const struct dump_perf_file *file, uint64_t time)
{
	return time <= file->start ? 0 : time;
}

/* Reserves room for the header, which is written at the end, and writes the parameters for decoding packets. */
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
/*
 * Writes a mapping of the kernel or of a module. map->offset: address of the symbol in
 * the name's end, as in "[kernel.kallsyms]_stext". machine: index of a virtual machine; 0: none.
 */
void dump_perf_kernel_mmap(struct dump_perf_file *file, const struct dump_perf_map *map, uint32_t machine);
/* Writes a record as described in perf_event_open(2): the type, and its fields without the trailer. */
void dump_perf_record(struct dump_perf_file *file, const struct dump_perf_place *place, uint32_t type, uint32_t misc,
		      const void *fields, size_t size);

/* A sample of an event. */
struct dump_perf_sample {
	size_t attr; /* index in file->attrs */
	struct dump_perf_place place;
	bool guest; /* of a virtual machine */
	uint64_t ip, period, address;
	const uint8_t *calls; /* addresses of 8 bytes */
	size_t call_count;
	const uint8_t *raw;
	size_t raw_size;
	const struct dump_perf_detail *detail; /* NULL: none */
};

void dump_perf_sample(struct dump_perf_file *file, const struct dump_perf_sample *sample);
/*
 * Writes ID_INDEX, with the virtual CPU of each id; nothing without virtual CPUs. perf forgets the virtual CPU of a
 * thread at the thread's FORK record, so that the record is needed before the records of virtual machines and behind the
 * FORK records of old threads.
 */
void dump_perf_index(struct dump_perf_file *file);
/* Writes two records: the CPU switches from one thread to another. */
void dump_perf_switch(struct dump_perf_file *file, const struct dump_perf_place *from,
		      const struct dump_perf_place *to);
/* Writes the head of a packet record. The caller then writes the packets with padding, a multiple of 8 bytes. */
void dump_perf_packets(struct dump_perf_file *file, uint64_t size, uint64_t position, uint64_t reference,
		       uint32_t number, uint32_t tid, uint32_t cpu);
/* Writes bytes that the record's size does not include. */
void dump_perf_raw(struct dump_perf_file *file, const void *data, size_t size);
/* Writes the features after the records, and the header. Returns 0, PTL_SYSTEM or PTL_NO_MEMORY. */
int dump_perf_end(struct dump_perf_file *file, const struct ptl_machine *machine);

#endif
