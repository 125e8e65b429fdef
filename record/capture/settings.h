/* SPDX-License-Identifier: BSD-2-Clause */
/* Settings from the command line. */
#ifndef RECORD_CAPTURE_SETTINGS_H
#define RECORD_CAPTURE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include <ptl/trace.h>

#include "common/program/selection.h"
#include "common/text/string_list.h"
#include "provider/session_layout.h"
#include "record/image/image_store.h"

enum record_progress_wish {
	RECORD_PROGRESS_ALONE, /* only if no command shares the terminal */
	RECORD_PROGRESS_ALWAYS,
	RECORD_PROGRESS_NEVER,
};

enum record_pt_code {
	RECORD_PT_USER,
	RECORD_PT_KERNEL,
	RECORD_PT_ALL,
};

/* Settings of the source intel_pt only. */
struct record_pt_settings {
	const char *terms; /* terms such as "cyc,mtc_period=6" override other options; NULL: none */
	enum record_pt_code code;
	struct common_id_set pids; /* running processes */
	struct common_id_set tids;
	/* CPUs such as "0,2-3" or "all", on which everything is recorded; NULL: not by CPU */
	const char *cpus;
	struct common_string_list processes; /* patterns of process names, including processes that start later */
	/* maximum number of CPUs for the command or for the recording; 0: no limit */
	uint32_t max_cpus;
	bool per_thread;
	struct common_string_list filters;
	bool snapshot;
	struct common_string_list triggers; /* functions that trigger a snapshot */
	struct common_string_list whens;    /* expressions; a matching event triggers a snapshot */
	/* nanoseconds: a trigger fires only after a longer call; 0: fires at the call */
	uint64_t over;
	uint64_t depth;         /* nanoseconds of history in a snapshot; 0: everything */
	uint32_t snapshots_max; /* number of triggered snapshots that ends the recording; 0: no limit */
	uint64_t aux_size;      /* bytes of packets in each buffer; 0: as large as permitted */
	/* bytes of packets that may wait in memory; 0: depends on CPUs and memory */
	uint64_t queue_size;
	uint32_t drain_threads; /* threads that copy packets to the queue; 0: depends on CPUs */
	/* events or functions that resume and pause the packets; NULL: no pauses */
	const char *resume_at, *pause_at;
	uint64_t max_rate; /* bytes of packets per second; 0: no limit */
};

/* Action at the maximum size or time of a file. */
enum record_mode {
	RECORD_MODE_SEQUENTIAL, /* one file; the recording ends */
	RECORD_MODE_NEWFILE,    /* the next file begins */
	RECORD_MODE_CIRCULAR,   /* the next file begins, and the oldest is removed */
	RECORD_MODE_BUFFERING,  /* as circular, in memory; a snapshot file is written on request and at the end */
	RECORD_MODE_REALTIME,   /* as circular, in memory, without a file */
};

/* How a recording ended. */
struct record_outcome {
	bool recorded;    /* the trace is complete, and the command ended */
	bool interrupted; /* a signal asked the recorder to end */
	int wait_status;  /* of the command, as of wait(2) */
};

/* The command line owns all strings. */
struct record_settings {
	const char *output; /* NULL: named after the command */
	const char *source; /* "auto" or a source's name */
	bool force;
	bool append; /* appends to an existing file */
	enum record_mode mode;
	/* maximum bytes of a file, from RECORD_MODE_CIRCULAR on of all files together; 0: no limit */
	uint64_t max_size;
	uint64_t part_time;     /* nanoseconds in a file; 0: no limit */
	uint32_t keep;          /* number of last files to keep; 0: all */
	uint64_t write_buffer;  /* bytes of a buffer before compression; 0: default of the writer */
	uint32_t compressors;   /* compressing threads; 0: depends on the source */
	uint32_t write_buffers; /* maximum number of buffers in memory; 0: default of the writer */
	bool list_sources;
	bool quiet;
	enum record_progress_wish progress;
	uint64_t duration; /* nanoseconds until the recording ends; 0: ends with the command */
	bool wait_for_all; /* goes on until the last descendant has ended */
	bool return_compression;
	uint32_t timing; /* enum ptl_timing */
	bool timing_given, psb_period_given;
	uint32_t clock;      /* enum ptl_clock: MONOTONIC, VIRTUAL, PERF (of the TSC) or SYSTEM */
	uint64_t psb_period; /* bytes */
	enum elf_embed embed;
	bool embed_given;
	bool debuginfod;         /* asks debuginfod servers for debug files after the recording */
	int level;               /* compression level of zstd */
	uint64_t flush_interval; /* nanoseconds */
	uint64_t ring_size;      /* bytes of PT, with intel_pt bytes of records, that may wait for the recorder */
	uint32_t per_cpu;        /* virtual CPUs of the software source; 0: a stream per thread */
	const char *start_at;    /* "FUNCTION" or "FILE:FUNCTION", software source only; NULL: from the start */
	struct common_string_list values; /* functions and expressions of --values */
	const char *stop_at;              /* "FUNCTION" or "FILE:FUNCTION", software source only; NULL: to the end */
	uint32_t threads_max;             /* maximum threads recorded at a time */
	char *const *command_line;        /* argv of the recorder, for the trace's provenance */
	char *const *command;             /* ends with NULL; NULL: running programs only */
	struct provider_shm_rule rules[PROVIDER_SHM_RULES_MAX]; /* rules of providers */
	uint32_t rule_count;
	bool attach; /* also attaches to programs that are no descendants of the command */
	/* bytes of a CPU's kernel events that may wait for the recorder; 0: as large as permitted */
	uint64_t event_ring;
	uint64_t provider_ring; /* bytes of a thread's events that may wait for the recorder; 0: depends on the room */
	struct common_string_list tracepoints; /* "SYSTEM:EVENT", optionally with " if FILTER" */
	struct common_string_list only;        /* terms as in record/capture/filter.h */
	uint32_t flags;                        /* values of EnableFlags, which stand for kernel events */
	struct common_string_list stacks;      /* patterns of event names that get call chains */
	bool list_flags;
	const char *list_probes; /* program whose probes to list; NULL: no list */
	bool list_providers;
	const char *session_name; /* NULL: an unnamed session */
	/*
	 * Descriptors of a named session: folder of the socket, listening socket, and pipe to a process that waits for
	 * the start (-1: no process waits).
	 */
	struct {
		int folder, listener, ready;
	} control;
	bool json;
	struct record_pt_settings pt;
	bool until_failure;             /* repeats the command until the command fails */
	uint32_t runs;                  /* largest number of runs; 0: no limit */
	struct record_outcome *outcome; /* receives the end of the recording; NULL: nobody asks */
};

#endif
