/* SPDX-License-Identifier: BSD-2-Clause */
/* A running capture: writes the data of all sources into the trace. */
#ifndef RECORD_CAPTURE_CAPTURE_H
#define RECORD_CAPTURE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/writer.h>

#include "record/capture/capture_filter.h"
#include "record/capture/capture_keep.h"
#include "record/capture/capture_metadata.h"
#include "record/capture/losses.h"
#include "record/capture/packets.h"
#include "record/capture/rotation.h"
#include "record/capture/streams.h"
#include "record/clock/wall_step.h"

struct record_capture {
	const struct record_settings *settings;
	struct record_event_watch *watch; /* NULL if no expression watches events; the owner frees the watch */
	struct ptl_machine machine;
	char *pt_filters; /* address filters of packets in the kernel's syntax; NULL without filters */
	struct record_output output;
	struct record_series *series; /* NULL if the trace is a single file */
	struct record_rotation rotation;
	struct record_keeping keeping;
	struct record_streams streams;
	struct record_losses losses;
	struct record_capture_filter filter;
	struct record_model *model;
	struct record_image_store *images;
	uint64_t ticked;
	struct record_wall_watch wall;
	uint64_t pt_bytes;
	bool pt_host;            /* a PIP without NR was read: the packets are of a host of virtual machines */
	uint64_t events;         /* events of providers */
	uint64_t missed_buffers; /* number of buffers that a real-time reader missed */
	bool full;               /* the file has reached its maximum size */
	bool unfinished;         /* an error ended the recording, and the files are incomplete */
	bool has_notes;          /* record/capture/notes.c */
	uint32_t note_stream;
};

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
 * Notes the status that waitpid(2) reports for a process. Other facts about processes go to
 * record_model_fact(capture->model, ...).
 */
int record_capture_exit_status(struct record_capture *capture, uint32_t pid, uint32_t wait_status);

/* Stores the bytes, unless they are already stored, and returns their hash. type: enum ptl_blob_type. */
int record_capture_blob(struct record_capture *capture, uint32_t type, const void *data, size_t size,
			uint8_t hash[PTL_HASH_SIZE]);

/*
 * Calls visit with the absolute path of each file of the trace, until visit fails. Fails with PTL_SYSTEM if no other
 * process can open the files.
 */
int record_capture_files(const struct record_capture *capture, int (*visit)(void *context, const char *path),
			 void *context);

/* Does periodic work: gives up on unexplained ends of processes, and writes old buffers. */
int record_capture_advance(struct record_capture *capture, uint64_t now);

#endif
