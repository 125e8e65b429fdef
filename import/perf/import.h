/* SPDX-License-Identifier: BSD-2-Clause */
/* A perf.data file on its way into a trace: what the parts of the import share. */
#ifndef IMPORT_PERF_IMPORT_H
#define IMPORT_PERF_IMPORT_H

#include <ptl/event.h>
#include <ptl/event_header.h>
#include <ptl/writer.h>

#include "common/bytes.h"
#include "common/hash_map.h"
#include "elf/image_store.h"
#include "import/perf/attr.h"
#include "import/perf/file.h"
#include "import/perf/input.h"
#include "import/perf/mapping.h"
#include "import/perf/order.h"
#include "import/perf/parts.h"
#include "import/perf/program.h"
#include "import/perf/tracing.h"
#include "import/perf/unwind.h"
#include "import/perf/vdso.h"

/* Event streams; each holds times that do not go back. */
#define PERF_LANES_MAX 256

struct perf_lane {
	uint32_t stream;
	uint64_t last;
};

struct perf_process;

struct perf_import {
	struct ptl_writer *writer;
	struct perf_file *file; /* being read: main, or a part */
	struct perf_file *main;
	struct perf_parts parts; /* of a folder */
	struct perf_attrs attrs;
	struct perf_order order;
	struct ptl_machine machine;
	struct elf_image_store *images;
	struct perf_tracing tracing;       /* what tracepoints look like */
	struct ptl_event_headers *headers; /* of user_events, as Microsoft's LinuxTracepoints write them */
	enum elf_embed embed;

	struct perf_programs programs; /* of processes that were there before */
	struct perf_unwinder unwinder;
	struct perf_vdso vdso;
	struct common_hash_map counters; /* id: value when a sample had it last */

	struct perf_lane lanes[PERF_LANES_MAX];
	size_t lane_count;

	struct common_hash_map processes; /* pid: struct perf_process * */
	struct common_hash_map tasks;     /* tid: struct perf_task * */
	struct common_hash_map threads;   /* tid: pid */
	struct common_hash_map aux;       /* CPU, or thread: struct perf_aux * */
	struct common_hash_map on_cpu;    /* CPU: the thread that runs there, or was switched out last */
	struct common_byte_map build_ids; /* path: index in ids */
	struct perf_build_id *ids;
	size_t id_count;
	bool aux_snapshots;     /* Intel PT was taken now and then */
	bool aux_switches;      /* context switches say whose a CPU's Intel PT is */
	uint64_t aux_reference; /* whole TSC that perf read when it wrote the last packets */
	uint64_t aux_start;     /* earliest time of a PSB; 0: none */
	uint64_t next_key;      /* of processes */
	uint64_t now;           /* time of the latest record that had one */
	uint64_t last;          /* time of the last record that had one */

	struct ptl_bytes storage; /* of the event being written */
	struct perf_outcome outcome;
	uint64_t records;
	bool running; /* what was there before has been reported */
};

/* ---- input.c */

struct elf_image_sink perf_image_sink(struct perf_import *import);

/* ---- event.c */

/* The time of a record: its own, else that of the trace's start, as it says what was there before. */
uint64_t perf_time(const struct perf_import *import, const struct perf_sample *sample);

/*
 * Whether the record reports what was there before: perf gives such a record no time. Where no record has one, it
 * is what comes before FINISHED_INIT, or the first sample.
 */
bool perf_is_rundown(const struct perf_import *import, const struct perf_sample *sample);

/* Writes an event into a stream whose times end before it. PTL_NO_MEMORY, PTL_SYSTEM. */
int perf_event_write(struct perf_import *import, struct ptl_event *event);

/* Writes the schemas of the events that perf_event_keep and perf_event_sample make. */
int perf_event_schemas(struct perf_import *import);

/* An event of the provider Linux-Perf without payload. */
struct ptl_event perf_event_of(const struct perf_import *import, uint16_t id, const struct perf_sample *sample);

/* Keeps a record that has no counterpart as an event of the provider Linux-Perf, its body as payload. */
int perf_event_keep(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
		    size_t body);
/* Writes a sample as an event; of a group of events, an event for each that has counted. */
int perf_event_sample(struct perf_import *import, struct perf_sample *sample);

/* ---- detail.c */

/* Writes what a sample has beside address, period, calls and raw data, if there is any. PTL_NO_MEMORY, PTL_SYSTEM. */
int perf_detail_write(struct perf_import *import, const struct perf_sample *sample);

/* ---- kernel_names.c */

/* Puts the names of an image of the kernel into the trace, where they are known; sets has_symbols and build_id. PTL_NO_MEMORY. */
int perf_kernel_names(struct perf_import *import, struct ptl_image_event *image);

/* ---- process.c: processes, threads and what they map */

int perf_comm(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
	      size_t body);
int perf_fork(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
	      size_t body);
int perf_exit(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
	      size_t body);
int perf_switch(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
		size_t body);
/* Sees to it that the process is there, and writes what waits for what comes next. */
int perf_process_need(struct perf_import *import, uint32_t pid, uint64_t time);

/* An executable mapping. */
struct perf_mapped {
	uint32_t pid, tid;
	uint64_t time;
	const char *path;
};

/* A file was mapped: the program that a process has just started is that of the first one. PTL_NO_MEMORY, PTL_SYSTEM. */
int perf_process_maps(struct perf_import *import, const struct perf_mapped *mapped);
/* A FORK or COMM record says whose a thread is, before its turn comes. PTL_NO_MEMORY. */
int perf_thread_seen(struct perf_import *import, const struct perf_record *record);
/* The process of a thread; the thread's own number where it is unknown. */
uint32_t perf_thread_process(const struct perf_import *import, uint32_t tid);
/* Writes what still waits. */
int perf_process_finish(struct perf_import *import);
void perf_process_free(struct perf_import *import);

/* ---- image.c */

int perf_mmap(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
	      size_t body);
/* An entry of the build id table: a feature's bytes, or the body of a record. */
int perf_build_id(struct perf_import *import, uint16_t misc, const uint8_t *data, size_t size);

struct stat;

/* Opens the very file that was mapped; -1: this machine does not have it, or, if *other is set, has it in another version. */
int perf_image_open(struct perf_import *import, const struct perf_mapping *mapping, struct stat *info, bool *other);

/* ---- aux.c: Intel PT */

int perf_aux_info(struct perf_import *import, const struct perf_record *record);
int perf_aux_data(struct perf_import *import, const struct perf_record *record);
int perf_aux_lost(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
		  size_t body);
int perf_aux_finish(struct perf_import *import);
void perf_aux_free(struct perf_import *import);

/* ---- aux_overlap.c: what two snapshots have in common */

/* The bytes of a record of Intel PT. */
struct perf_aux_record {
	uint64_t offset; /* in the file */
	uint64_t size;
	size_t zeros; /* last bytes, up to 7, that may be padding */
};

/* How many of the first bytes of `record` are the last ones of `before`. What perf_file_read returns. */
int perf_aux_overlap(const struct perf_file *file, const struct perf_aux_record *before,
		     const struct perf_aux_record *record, uint64_t *bytes);

/* ---- feature.c: what is said of the machine */

int perf_features_read(struct perf_import *import);
int perf_feature_record(struct perf_import *import, const struct perf_record *record);
int perf_event_update(struct perf_import *import, const struct perf_record *record);
/* The formats of tracepoints, as they come through a pipe. */
int perf_tracing_record(struct perf_import *import, const struct perf_record *record);
int perf_time_conversion(struct perf_import *import, const struct perf_record *record);

#endif
