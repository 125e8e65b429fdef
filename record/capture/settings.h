/* SPDX-License-Identifier: BSD-2-Clause */
/* What the command line asks for. */
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
	RECORD_PROGRESS_ALONE, /* only where no command shares the terminal */
	RECORD_PROGRESS_ALWAYS,
	RECORD_PROGRESS_NEVER,
};

enum record_pt_code {
	RECORD_PT_USER,
	RECORD_PT_KERNEL,
	RECORD_PT_ALL,
};

/* What only the source intel_pt takes. */
struct record_pt_settings {
	const char *terms; /* "cyc,mtc_period=6", over what the other options ask for; NULL: none */
	enum record_pt_code code;
	struct common_id_set pids; /* that run already */
	struct common_id_set tids;
	const char *cpus;                    /* "0,2-3", "all": whatever runs there; NULL: not by CPU */
	struct common_string_list processes; /* patterns of names, also of processes that start later */
	uint32_t max_cpus;                   /* on which the command runs, or whatever runs is recorded; 0: any */
	bool per_thread;
	struct common_string_list filters;
	bool snapshot;
	struct common_string_list triggers; /* functions at which a snapshot is kept */
	struct common_string_list whens;    /* expressions: when an event matches one, a snapshot is kept */
	uint64_t over;                      /* nanoseconds: only where one took longer; 0: when it is reached */
	uint64_t depth;                     /* nanoseconds that a snapshot keeps; 0: all */
	uint32_t snapshots_max;             /* of triggers, after which the recording ends; 0: any */
	uint64_t aux_size;                  /* bytes of packets of each buffer; 0: by what is permitted */
	uint64_t queue_size;                /* bytes of packets that may wait in memory; 0: by CPUs and memory */
	uint32_t drain_threads;             /* that copy packets there; 0: by CPUs */
};

/* What becomes of the file when it has its size or has had its time. */
enum record_mode {
	RECORD_MODE_SEQUENTIAL, /* one file; recording ends there */
	RECORD_MODE_NEWFILE,    /* the next file */
	RECORD_MODE_CIRCULAR,   /* the next file, and the oldest goes */
	RECORD_MODE_BUFFERING, /* the same in memory, of which a file is made when somebody asks for it, and at the end */
	RECORD_MODE_REALTIME, /* the same in memory, and no file */
};

/* All strings belong to the command line. */
struct record_settings {
	const char *output; /* NULL: named after the command */
	const char *truth;  /* NULL: none */
	const char *source; /* "auto" or a source's name */
	const char *qemu;   /* path of qemu-x86_64; NULL: searched in $PATH */
	bool force;
	bool append; /* to the file, if it exists */
	enum record_mode mode;
	uint64_t max_size;      /* bytes of a file, of all together from RECORD_MODE_CIRCULAR on; 0: any */
	uint64_t part_time;     /* nanoseconds of a file; 0: any */
	uint32_t keep;          /* files, the last ones; 0: all */
	uint64_t write_buffer;  /* bytes of a buffer before compression; 0: the writer's own */
	uint32_t compressors;   /* threads; 0: as many as suit the source */
	uint32_t write_buffers; /* for which there is memory; 0: the writer's own */
	bool list_sources;
	bool quiet;
	enum record_progress_wish progress;
	uint64_t duration; /* nanoseconds after which recording ends; 0: when the command does */
	bool wait_for_all; /* go on until the last descendant has ended */
	bool return_compression;
	uint32_t timing; /* enum ptl_timing */
	bool timing_given, psb_period_given;
	uint32_t clock;      /* enum ptl_clock: MONOTONIC, VIRTUAL, PERF (of the TSC) or SYSTEM */
	uint64_t psb_period; /* bytes */
	enum elf_embed embed;
	bool embed_given;
	bool debuginfod;         /* servers may be asked for debug files when recording has ended */
	int level;               /* of zstd */
	uint64_t flush_interval; /* nanoseconds */
	uint64_t ring_size;      /* bytes of PT, with intel_pt of records, that a thread may be ahead of the recorder */
	uint32_t per_cpu;        /* virtual CPUs of the software source; 0: a stream for each thread */
	uint32_t threads_max;    /* threads recorded at one time */
	char *const *command_line; /* the recorder's own argv, for the trace's provenance */
	char *const *command;      /* ends with NULL; NULL: none, but what runs already */
	struct provider_shm_rule rules[PROVIDER_SHM_RULES_MAX]; /* of providers */
	uint32_t rule_count;
	bool attach; /* also to programs that are no descendants of the command */
	uint64_t
		event_ring; /* bytes of the kernel's events that a CPU may be ahead of the recorder; 0: by what is permitted */
	uint64_t provider_ring; /* bytes of events that a thread may be ahead of the recorder; 0: by the room */
	struct common_string_list tracepoints; /* "SYSTEM:EVENT", also with " if FILTER" */
	struct common_string_list only;        /* terms of record/capture/filter.h */
	uint32_t flags;                        /* values of EnableFlags, which stand for others */
	struct common_string_list stacks;      /* patterns of names of those that have call chains */
	bool list_flags;
	const char *list_probes; /* of this program; NULL: no */
	bool list_providers;
	const char *session_name; /* NULL: a session without a name */
	/* Of a named session: the folder of its socket, the socket, and who waits for it to begin (-1: nobody). */
	struct {
		int folder, listener, ready;
	} control;
	bool json;
	struct record_pt_settings pt;
};

#endif
