/* SPDX-License-Identifier: BSD-2-Clause */
/* A capture under way: what sources deliver is put into the trace. */
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
#include "record/capture/truth.h"
#include "record/clock/wall_step.h"
#include "record/image/image_store.h"
#include "record/model/model.h"

/* What was lost of one kind. */
struct record_lost {
	uint64_t places; /* loss records */
	uint64_t count;  /* what the records count, together; 0: that is not known */
};

struct record_capture {
	const struct record_settings *settings;
	struct record_event_watch *watch; /* NULL: nobody waits for events; its owner frees it */
	struct ptl_machine machine;
	struct record_output output;
	struct record_model *model;
	struct record_image_store *images;
	struct record_truth *truth;             /* NULL: not asked for */
	uint32_t (*stream_pairs)[RECORD_PARTS]; /* stream ids */
	size_t stream_pair_count;
	size_t stream_pair_capacity;
	uint64_t ticked;
	struct record_wall_watch wall;
	uint64_t pt_bytes;
	uint64_t events;               /* of providers */
	struct record_stream *streams; /* record/capture/streams.c */
	size_t stream_count;
	size_t stream_capacity;
	size_t waiting;                /* streams of packets that go to the file before until their next PSB */
	struct record_series *series;  /* NULL: one file */
	struct record_next_file *next; /* NULL: none is prepared */
	bool begins;                   /* what the file at hand begins with is being written, up to this position */
	uint64_t begun;
	bool series_failed;             /* a file of it could not be written completely */
	bool rest_wanted;               /* somebody reads the series while it is written: */
	struct record_series_rest rest; /* what is there once it has ended, which that one frees */
	struct record_output before;    /* the file before, while packets go there; no writer: it is closed */
	uint64_t before_since;
	/* One that was the file before, while it is completed in the background. */
	struct {
		struct record_background work;
		struct record_output output;        /* the thread's */
		struct ptl_writer_counts completed; /* the same */
		struct ptl_writer_counts counts;    /* when that began */
	} closing;
	struct ptl_trace *code_before; /* the file before, for its code; NULL: none */
	uint64_t code_since;
	uint64_t file_start;           /* time of the events that the file at hand begins with; 0: it is the first */
	uint32_t rotations;            /* files that were begun after the first; each wants a PSB of each stream */
	struct ptl_writer_counts past; /* of files that are complete */
	struct record_schemas schemas;
	struct record_filter filter;
	struct record_filter filter_before; /* of events before filter_since */
	uint64_t filter_since;
	uint64_t left_out;             /* events that the filters did not want */
	struct record_keeper *keeper;  /* with --mode buffering; else NULL */
	struct record_keeper *appends; /* with --append, of a file that was there; else NULL */
	char keep_failure[256];        /* why the last file of what is in memory could not be written; "": it was */
	uint64_t missed_buffers;       /* that who reads in real time has missed */
	bool full;                     /* the file has its largest size */
	bool has_notes;                /* record/capture/notes.c */
	uint32_t note_stream;
	uint64_t loss_records;
	struct record_lost lost[PTL_LOSS_END + 1]; /* by kind */
	char first_loss[256];                      /* its cause, for the summary */
	const char *loss_hint;                     /* what a source says helps against losses; NULL: nothing */
};

/* How files are written. */
struct ptl_writer_options record_writer_options(const struct record_settings *settings, const char *path);

/*
 * Creates the trace at path and writes what is known before the start. machine is complete but for
 * end_time. 0 or a ptl_status; nothing is left to be closed after a failure.
 */
int record_capture_open(struct record_capture *capture, const struct record_settings *settings, const char *path,
			const struct ptl_machine *machine);

/*
 * The end: rundown, end_time, index. 0, or the first failure of writing the trace (PTL_SYSTEM) or
 * the truth.
 */
int record_capture_close(struct record_capture *capture, uint64_t end_time);

/* The end of a recording that has not started: its trace is removed. */
void record_capture_discard(struct record_capture *capture);

/*
 * Functions below return 0 or PTL_NO_MEMORY: that a file takes no bytes is noted in
 * capture->output.
 */

/* Streams; their numbers are the same through all files of a series. This one is of the PT bytes of a thread. */
int record_capture_stream(struct record_capture *capture, const struct ptl_stream *declared, uint32_t *stream);
int record_capture_thread(struct record_capture *capture, uint32_t pid, uint32_t tid, uint32_t *stream);
int record_capture_pt(struct record_capture *capture, uint32_t stream, const void *data, size_t size, uint64_t time);
int record_capture_psb(struct record_capture *capture, uint32_t stream, uint64_t offset, uint64_t time);
int record_capture_hole(struct record_capture *capture, uint32_t stream, uint64_t size, uint64_t time);
/* No more packets come: the next files do not have the stream. */
int record_capture_end_stream(struct record_capture *capture, uint32_t stream);
int record_capture_loss(struct record_capture *capture, const struct ptl_loss *loss);

/* A stream of events of no process in particular, and what goes to it; counted as events. */
int record_capture_event_stream(struct record_capture *capture, uint32_t *stream);
int record_capture_event(struct record_capture *capture, uint32_t stream, const struct ptl_event *event);
/* Whether all events are wanted, and nobody watches them: only then may they come by record_capture_records. */
bool record_capture_takes_records(const struct record_capture *capture);
/* The same of many at once. */
int record_capture_records(struct record_capture *capture, uint32_t stream, const struct format_event_record *records,
			   size_t count);
/* Who has written an event, as far as its source knows. */
struct record_origin {
	const char *program;  /* that its process runs; NULL: as the capture knows */
	const char *provider; /* its name; NULL: as its schema says */
	bool kernel;          /* it is of no provider */
};

/* Changes the terms of --only, all or none, for what happens from now on. As record_filter_set. */
int record_capture_only(struct record_capture *capture, const struct common_string_list *terms);
/* *wanted: whether an event is to be recorded (--only); counted if not. */
int record_capture_wants(struct record_capture *capture, const struct record_origin *origin,
			 const struct ptl_event *event, bool *wanted);
/* What is known of an event; valid while nothing changes. */
struct record_asked_event record_capture_asked(struct record_capture *capture, const struct ptl_event *event);
/* The same, and not counted. */
int record_capture_put(struct record_capture *capture, uint32_t stream, const struct ptl_event *event);
/* A context switch of the CPU that has these packets. */
int record_capture_switch(struct record_capture *capture, uint32_t stream, uint32_t packets,
			  const struct ptl_event *event);
/* What explains events; an equal one that is there costs nothing. */
int record_capture_schema(struct record_capture *capture, const struct ptl_schema *schema);
int record_capture_map(struct record_capture *capture, const struct ptl_map *map);

/* Facts about processes go to record_model_fact(capture->model, ...); this is what waitpid(2) says of one. */
int record_capture_exit_status(struct record_capture *capture, uint32_t pid, uint32_t wait_status);

/* Stores bytes, unless they are there, and gives their hash. type: enum ptl_blob_type. */
int record_capture_blob(struct record_capture *capture, uint32_t type, const void *data, size_t size,
			uint8_t hash[PTL_HASH_SIZE]);

/* Truth, where capture->truth is there: see record/capture/truth.h. */
int record_capture_truth_block(struct record_capture *capture, uint32_t definitions, uint32_t number,
			       const uint64_t *addresses, size_t count);
int record_capture_truth_inherit(struct record_capture *capture, uint32_t definitions, uint32_t parent);
int record_capture_truth_thread(struct record_capture *capture, uint32_t definitions, uint32_t pid, uint32_t tid,
				uint32_t *stream);
int record_capture_truth_words(struct record_capture *capture, uint32_t stream, const uint32_t *words, size_t count);

/* What was written: to the file at hand, and to those before it. */
void record_capture_counts(const struct record_capture *capture, struct ptl_writer_counts *counts);
/* Writes all that was taken so far. */
int record_capture_flush(struct record_capture *capture);
/*
 * Begins to write what is in memory (--mode buffering) to its file, and says when it is there; record_keeper_works tells. PTL_MISUSE
 * while that goes on, PTL_SYSTEM, PTL_NO_MEMORY.
 */
int record_capture_keep(struct record_capture *capture);
/* Calls visit with the absolute path of each file of the trace; until it fails. PTL_SYSTEM: there is none that others can open. */
int record_capture_files(const struct record_capture *capture, int (*visit)(void *context, const char *path),
			 void *context);

/* Does what is due: ends of processes that nobody explains any more, buffers that are old. */
int record_capture_advance(struct record_capture *capture, uint64_t now);

#endif
