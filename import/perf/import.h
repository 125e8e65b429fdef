/* SPDX-License-Identifier: BSD-2-Clause */
/* State of an import of perf.data, shared by the parts of the import. */
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
#include "import/perf/guest.h"
#include "import/perf/guest_flow.h"
#include "import/perf/input.h"
#include "import/perf/kernel.h"
#include "import/perf/mapping.h"
#include "import/perf/order.h"
#include "import/perf/parts.h"
#include "import/perf/pebs.h"
#include "import/perf/program.h"
#include "import/perf/unwind.h"
#include "import/perf/vdso.h"
#include "perf/tracing.h"

/* Maximum records that are searched for the first time in a file. */
#define PERF_LOOK_AHEAD 100000u

/* Maximum event streams. Times within a stream do not go back. */
#define PERF_LANES_MAX 256

/* The folder that the caller names, and ~/.debug. */
#define PERF_CACHES 2

struct perf_lane {
	uint32_t stream;
	uint64_t last;
};

struct perf_process;

struct perf_import {
	struct ptl_writer *writer;
	struct perf_file *file; /* file being read: main, or a part */
	struct perf_file *main;
	struct perf_file **series; /* files behind the first file of a series */
	size_t series_count;
	uint64_t series_start;   /* time of rundown in a file behind the first */
	size_t first_attr;       /* index of the first attribute of the file */
	struct perf_parts parts; /* parts of a folder */
	struct perf_attrs attrs;
	struct perf_order order;
	struct ptl_machine machine;
	struct elf_image_store *images;
	struct perf_tracing tracing;       /* formats of tracepoints */
	struct ptl_event_headers *headers; /* decoder of EventHeader events (Microsoft's LinuxTracepoints) */
	enum elf_embed embed;
	char caches[PERF_CACHES][4096]; /* folders of perf's build-id caches, in the order of search; "": no more */

	struct perf_programs programs; /* programs of processes older than the recording */
	struct perf_unwinder unwinder;
	struct perf_vdso vdso;
	const char *folder; /* name of perf.data, which may be a folder */
	struct perf_kernel kernel;
	struct perf_kernel *guest_kernels[PTL_MACHINE_MAX + 1]; /* by machine, from 1 on; NULL: not needed yet */
	struct perf_guests guests;                              /* virtual machines with records */
	struct perf_guest_flow guest_flow;
	struct common_hash_map counters; /* event id: counter value at the last sample */

	struct perf_lane lanes[PERF_LANES_MAX];
	size_t lane_count;

	struct common_hash_map processes; /* pid: struct perf_process * */
	struct common_hash_map tasks;     /* tid: struct perf_task * */
	struct common_hash_map threads;   /* tid: pid */
	struct common_hash_map aux;       /* CPU or thread: struct perf_aux * */
	struct common_hash_map on_cpu;    /* CPU: running thread, or last thread switched out */
	struct common_byte_map build_ids; /* path: index in ids */
	struct perf_build_id *ids;
	size_t id_count;
	bool aux_per_cpu;       /* rings of Intel PT are of CPUs, not of threads */
	uint64_t aux_unsampled; /* samples whose packets do not continue the packets of the previous sample */
	bool aux_snapshots;     /* Intel PT was recorded as snapshots */
	bool aux_pebs;          /* Intel PT has samples of events with aux-output */
	struct common_hash_map pebs_counters; /* CPU and hardware counter: id of the event */
	bool aux_host;                        /* a PIP without NR was read: a host recorded Intel PT */
	bool aux_kernel;                      /* Intel PT has the kernel's flow, too */
	bool aux_switches;                    /* context switches tell the threads of a CPU's Intel PT */
	uint64_t aux_reference;               /* full TSC that perf read when writing the last packets */
	uint64_t aux_start;                   /* earliest time of a PSB; 0: none */
	uint64_t next_key;                    /* next unique key of a process */
	uint64_t now;                         /* latest time of all records */
	uint64_t last;                        /* time of the last record with a time */

	struct ptl_bytes storage; /* scratch memory of the event being written */
	struct perf_outcome outcome;
	uint64_t records;
	bool running; /* rundown of existing processes is complete */
};

/* ---- image_sink.c */

struct elf_image_sink perf_image_sink(struct perf_import *import);

/* ---- event.c */

/* Returns the time of a record. A record without a time is rundown, and gets the start time of the trace. */
uint64_t perf_time(const struct perf_import *import, const struct perf_sample *sample);

/*
 * Whether the record is rundown of existing processes: perf gives such a record no time. If no record has a time,
 * records before FINISHED_INIT or the first sample are rundown.
 */
bool perf_is_rundown(const struct perf_import *import, const struct perf_sample *sample);

/*
 * Writes an event to a stream whose times end before the event. Counts an event whose payload exceeds PTL_PAYLOAD_MAX.
 * Returns PTL_NO_MEMORY, PTL_SYSTEM.
 */
int perf_event_write(struct perf_import *import, struct ptl_event *event);
/* As perf_event_write, with the bytes of import->storage as payload. */
int perf_event_write_storage(struct perf_import *import, struct ptl_event *event);

/* Writes the schemas of the events of perf_event_keep and perf_event_sample. */
int perf_event_schemas(struct perf_import *import);

/* Returns an event of the provider Linux-Perf without a payload. */
struct ptl_event perf_event_of(const struct perf_import *import, uint16_t id, const struct perf_sample *sample);

/* Writes a record without an ETW counterpart as an event of the provider Linux-Perf, with the body as payload. */
int perf_event_keep(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
		    size_t body);

/* ---- sample_event.c */

/* Writes a sample as an event. A sample of a group becomes an event for each counter that has counted. */
int perf_event_sample(struct perf_import *import, struct perf_sample *sample);

/* ---- series.c */

/*
 * Opens the next file of a series, and reads its attributes and features. before_fd: descriptor of import->file. Returns
 * 1; 0 if the file does not continue import->file; PTL_NO_MEMORY, PTL_SYSTEM.
 */
int perf_series_next(struct perf_import *import, int before_fd, int fd);
/* Whether rundown of a file behind the first file tells what is known from the files before. */
bool perf_series_repeats(const struct perf_import *import, const struct perf_record *record,
			 const struct perf_sample *sample);
void perf_series_close(struct perf_import *import);

/* ---- detail.c */

/*
 * Writes sample fields besides address, period, calls and raw data, if the sample has any. Returns PTL_NO_MEMORY,
 * PTL_SYSTEM.
 */
int perf_detail_write(struct perf_import *import, const struct perf_sample *sample);

/* ---- kernel_names.c */

/* Writes the symbols of a kernel image, if known. Sets has_symbols and build_id. Returns PTL_NO_MEMORY. */
int perf_kernel_names(struct perf_import *import, const struct perf_kernel *kernel, struct ptl_image_event *image);

/* ---- kernel_code.c: code that the kernel makes or changes */

int perf_ksymbol(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
		 size_t body);
int perf_text_poke(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
		   size_t body);

/* ---- process.c */

int perf_comm(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
	      size_t body);
int perf_fork(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
	      size_t body);
int perf_exit(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
	      size_t body);
/* Adds the process if unknown, and writes a pending event of the process. */
int perf_process_need(struct perf_import *import, uint32_t pid, uint64_t time);

/* An executable mapping. */
struct perf_mapped {
	uint32_t pid, tid;
	uint64_t time;
	const char *path;
};

/*
 * Handles the mapping of a file. A process that has just executed a program gets the first mapped file as program.
 * Returns PTL_NO_MEMORY, PTL_SYSTEM.
 */
int perf_process_maps(struct perf_import *import, const struct perf_mapped *mapped);
/* Writes all pending events. */
int perf_process_finish(struct perf_import *import);

/* ---- process_table.c */

/* Whether the process is known. The process may have ended: perf also describes processes that wait for their parents. */
bool perf_process_known(const struct perf_import *import, uint32_t pid);
/* Learns a thread's process from a FORK or COMM record that is still waiting. Returns PTL_NO_MEMORY. */
int perf_thread_seen(struct perf_import *import, const struct perf_record *record);
/* Returns the pid of a thread; the tid itself if the process is unknown. */
uint32_t perf_thread_process(const struct perf_import *import, uint32_t tid);
void perf_process_free(struct perf_import *import);

/* ---- switch.c */

int perf_switch(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
		size_t body);

/* ---- image.c */

int perf_mmap(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
	      size_t body);

/* ---- image_file.c */

/* Adds an entry of the build id table: bytes of a feature, or a record's body. */
int perf_build_id(struct perf_import *import, uint16_t misc, const uint8_t *data, size_t size);
/* Returns the build id of a machine's file; NULL: unknown. */
const struct perf_build_id *perf_build_id_find(const struct perf_import *import, uint32_t machine, const char *path);

struct stat;

/*
 * Opens a file of perf's cache by build id. The cache has files that were replaced since, and each vdso. path: receives
 * the path; room is at least PERF_CACHED_PATH. Returns -1 without such a file.
 */
#define PERF_CACHED_PATH 4200
int perf_image_cached(const struct perf_import *import, const struct perf_mapping *mapping, const char *name,
		      char *path, size_t room, struct stat *info);

/*
 * Opens exactly the mapped file. Returns -1 if this machine lacks the file. *other: the file exists in another version.
 */
int perf_image_open(struct perf_import *import, const struct perf_mapping *mapping, struct stat *info, bool *other);

/* ---- aux.c: Intel PT */

int perf_aux_info(struct perf_import *import, const struct perf_record *record);
int perf_aux_data(struct perf_import *import, const struct perf_record *record);
/* Adds the packets of a sample to the stream of the CPU or thread. */
int perf_aux_sample(struct perf_import *import, const struct perf_sample *sample);
int perf_aux_lost(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
		  size_t body);
int perf_aux_finish(struct perf_import *import);
void perf_aux_free(struct perf_import *import);

/* ---- aux_overlap.c: overlap of two snapshots */

/* Position of a record of Intel PT. */
struct perf_aux_record {
	const struct perf_file *file;
	uint64_t offset; /* file offset */
	uint64_t size;
	size_t zeros;          /* trailing zeros, up to 7, possibly padding */
	const uint8_t *memory; /* the bytes of a sample; NULL: the bytes are in the file */
};

/* *bytes: how many first bytes of `record` equal the last bytes of `before`. Returns the errors of perf_file_read. */
int perf_aux_overlap(const struct perf_aux_record *before, const struct perf_aux_record *record, uint64_t *bytes);

/* ---- feature.c: description of the machine */

int perf_features_read(struct perf_import *import);
int perf_feature_record(struct perf_import *import, const struct perf_record *record);
int perf_event_update(struct perf_import *import, const struct perf_record *record);
/* Reads the formats of tracepoints from a record of a pipe. */
int perf_tracing_record(struct perf_import *import, const struct perf_record *record);
int perf_time_conversion(struct perf_import *import, const struct perf_record *record);

#endif
