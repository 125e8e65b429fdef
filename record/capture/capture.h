/* SPDX-License-Identifier: BSD-2-Clause */
/* A running capture: writes the data of all sources into the trace. */
#ifndef RECORD_CAPTURE_CAPTURE_H
#define RECORD_CAPTURE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/kernel.h>
#include <ptl/writer.h>

#include "format/event/events.h"
#include "record/capture/background.h"
#include "record/capture/filter.h"
#include "record/capture/keeper.h"
#include "record/capture/next_file.h"
#include "record/capture/output.h"
#include "record/capture/schemas.h"
#include "record/capture/series.h"
#include "record/capture/series_rest.h"
#include "record/capture/settings.h"
#include "record/clock/wall_step.h"
#include "record/image/image_store.h"
#include "record/model/model.h"

/* losses of one kind */
struct record_lost {
	uint64_t places; /* loss records */
	uint64_t count;  /* sum of the records' counts; 0 if unknown */
};

/* losses that are reported together at the end */
struct record_lost_more {
	uint64_t places, count, bytes;
	uint64_t first_time, last_time;
};

struct record_capture {
	const struct record_settings *settings;
	struct record_event_watch *watch; /* NULL if no expression watches events; the owner frees the watch */
	struct ptl_machine machine;
	char *pt_filters; /* address filters of packets in the kernel's syntax; NULL without filters */
	struct record_output output;
	struct record_model *model;
	struct record_image_store *images;
	uint32_t (*stream_pairs)[RECORD_PARTS]; /* stream ids */
	size_t stream_pair_count;
	size_t stream_pair_capacity;
	uint64_t ticked;
	struct record_wall_watch wall;
	uint64_t pt_bytes;
	uint64_t events;               /* events of providers */
	struct record_stream *streams; /* record/capture/streams.c */
	size_t stream_count;
	size_t stream_capacity;
	/* number of packet streams that still write to the previous file until their next PSB */
	size_t waiting;
	struct record_series *series;  /* NULL if the trace is a single file */
	struct record_next_file *next; /* next file in preparation; NULL otherwise */
	/* the initial records of the current file are being written, up to position `begun` */
	bool begins;
	uint64_t begun;
	bool series_failed;             /* a file of the series is incomplete */
	bool rest_wanted;               /* a reader follows the series */
	struct record_series_rest rest; /* remaining files after the end of the series; the reader's owner frees them */
	struct record_output before;    /* previous file while packets still go there; without a writer if closed */
	uint64_t before_since;
	/* An older file that a background thread completes. */
	struct {
		struct record_background work;
		struct record_output output;        /* used by the thread only */
		struct ptl_writer_counts completed; /* used by the thread only */
		struct ptl_writer_counts counts;    /* counts at the start of the completion */
	} closing;
	struct ptl_trace *code_before; /* trace of the previous file, to read code from; NULL if none */
	uint64_t code_since;
	uint64_t file_start;           /* time of the initial events of the current file; 0 in the first file */
	uint32_t rotations;            /* number of files started after the first; each needs a PSB of each stream */
	struct ptl_writer_counts past; /* counts of complete files */
	struct record_schemas schemas;
	struct record_filter filter;
	struct record_filter filter_before; /* filter for events before filter_since */
	uint64_t filter_since;
	uint64_t left_out;             /* number of events that the filters rejected */
	struct record_keeper *keeper;  /* set with --mode buffering, else NULL */
	struct record_keeper *appends; /* set with --append to an existing file, else NULL */
	char keep_failure[256];        /* why the last snapshot file could not be written; "" after success */
	uint64_t missed_buffers;       /* number of buffers that a real-time reader missed */
	bool full;                     /* the file has reached its maximum size */
	bool unfinished;               /* an error ended the recording, and the files are incomplete */
	bool has_notes;                /* record/capture/notes.c */
	uint32_t note_stream;
	uint64_t loss_records;
	uint64_t loss_bytes;                            /* approximate size of the loss records */
	struct record_lost lost[PTL_LOSS_END + 1];      /* indexed by kind */
	struct record_lost_more more[PTL_LOSS_END + 1]; /* losses without a record so far, indexed by kind */
	/* the message about missing room for schemas or symbols was printed */
	bool no_room;
	char first_loss[256];  /* cause of the first loss, for the summary */
	const char *loss_hint; /* a source's advice against losses; NULL without advice */
};

/* Returns the options for writing a file at `path`. */
struct ptl_writer_options record_writer_options(const struct record_settings *settings, const char *path);

/* Returns the settings' wish for an existing file, as record_output_create takes it. */
unsigned record_output_wish(const struct record_settings *settings);

/*
 * Creates the trace at path, and writes the initial records.
 * machine: complete except for end_time.
 * Returns 0 or a ptl_status. A failed open leaves nothing to close.
 */
int record_capture_open(struct record_capture *capture, const struct record_settings *settings, const char *path,
			const struct ptl_machine *machine);

/* Writes the rundown, end_time and index. Returns 0, or PTL_SYSTEM for the first failed write of the trace. */
int record_capture_close(struct record_capture *capture, uint64_t end_time);

/*
 * Notes that an error ended the recording at `time`: writes a loss record with the cause, and marks the current files
 * as incomplete for readers. The caller calls record_capture_close afterwards. Only the loss record needs memory.
 */
void record_capture_cut_short(struct record_capture *capture, uint64_t time, const char *cause);

/* Checks whether a file was removed or could not be written completely. */
bool record_capture_write_failed(const struct record_capture *capture);

/* Removes the trace of a recording that has not started. */
void record_capture_discard(struct record_capture *capture);

/* Functions below return 0 or PTL_NO_MEMORY. capture->output notes failed writes. */

/*
 * Streams. Stream numbers stay the same in all files of a series. record_capture_thread makes the stream of a thread's
 * PT bytes.
 */
int record_capture_stream(struct record_capture *capture, const struct ptl_stream *declared, uint32_t *stream);
int record_capture_thread(struct record_capture *capture, uint32_t pid, uint32_t tid, uint32_t *stream);
int record_capture_pt(struct record_capture *capture, uint32_t stream, const void *data, size_t size, uint64_t time);
int record_capture_psb(struct record_capture *capture, uint32_t stream, uint64_t offset, uint64_t time);
int record_capture_hole(struct record_capture *capture, uint32_t stream, uint64_t size, uint64_t time);
/* Ends a stream of packets. Later files do not have the stream. */
int record_capture_end_stream(struct record_capture *capture, uint32_t stream);
int record_capture_loss(struct record_capture *capture, const struct ptl_loss *loss);

/* Makes a stream of events without a process, or writes an event to the stream. record_capture_event counts events. */
int record_capture_event_stream(struct record_capture *capture, uint32_t *stream);
int record_capture_event(struct record_capture *capture, uint32_t stream, const struct ptl_event *event);
/*
 * Checks whether the capture takes all events without a filter or a watch. Only then may record_capture_records be
 * called.
 */
bool record_capture_takes_records(const struct record_capture *capture);
/* Writes many events to a stream. */
int record_capture_records(struct record_capture *capture, uint32_t stream, const struct format_event_record *records,
			   size_t count);
/* Origin of an event, as far as the source knows. */
struct record_origin {
	const char *program;  /* program of the process; NULL: as the capture knows */
	const char *provider; /* name of the provider; NULL: as the schema says */
	bool kernel;          /* kernel event without a provider */
};

/* Changes the terms of --only for future events: all of the terms, or none after an error. As record_filter_set. */
int record_capture_only(struct record_capture *capture, const struct common_string_list *terms);
/* wanted: set to whether --only records the event. Counts rejected events. */
int record_capture_wants(struct record_capture *capture, const struct record_origin *origin,
			 const struct ptl_event *event, bool *wanted);
/* Returns the event with its schema and program, valid until the next change. */
struct record_asked_event record_capture_asked(struct record_capture *capture, const struct ptl_event *event);
/* Writes an event without counting the event. */
int record_capture_put(struct record_capture *capture, uint32_t stream, const struct ptl_event *event);
/* Writes a context switch of the CPU whose packets are in stream `packets`. */
int record_capture_switch(struct record_capture *capture, uint32_t stream, uint32_t packets,
			  const struct ptl_event *event);
/*
 * Stores address filters of packets, in the kernel's syntax, for each file. Fails with PTL_CORRUPT, PTL_NO_MEMORY or
 * PTL_SYSTEM.
 */
int record_capture_pt_filters(struct record_capture *capture, const char *filters);
/* Adds a description of events. A repeated description costs no room. */
int record_capture_schema(struct record_capture *capture, const struct ptl_schema *schema);
int record_capture_map(struct record_capture *capture, const struct ptl_map *map);

/*
 * Notes the status that waitpid(2) reports for a process. Other facts about processes go to
 * record_model_fact(capture->model, ...).
 */
int record_capture_exit_status(struct record_capture *capture, uint32_t pid, uint32_t wait_status);

/* Stores the bytes, unless they are already stored, and returns their hash. type: enum ptl_blob_type. */
int record_capture_blob(struct record_capture *capture, uint32_t type, const void *data, size_t size,
			uint8_t hash[PTL_HASH_SIZE]);

/* Returns the counts of all files so far, with the current file. */
void record_capture_counts(const struct record_capture *capture, struct ptl_writer_counts *counts);
/* Writes all buffered data. */
int record_capture_flush(struct record_capture *capture);
/*
 * Starts writing the files in memory (--mode buffering) to the output file, and prints a message at the end.
 * record_keeper_works tells whether the writing goes on.
 * Fails with PTL_MISUSE if the writing already goes on, PTL_SYSTEM or PTL_NO_MEMORY.
 */
int record_capture_keep(struct record_capture *capture);
/*
 * Calls visit with the absolute path of each file of the trace, until visit fails. Fails with PTL_SYSTEM if no other
 * process can open the files.
 */
int record_capture_files(const struct record_capture *capture, int (*visit)(void *context, const char *path),
			 void *context);

/* Does periodic work: gives up on unexplained ends of processes, and writes old buffers. */
int record_capture_advance(struct record_capture *capture, uint64_t now);

#endif
