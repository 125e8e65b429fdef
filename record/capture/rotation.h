/* SPDX-License-Identifier: BSD-2-Clause */
/* Switches between the files of a series. */
#ifndef RECORD_CAPTURE_ROTATION_H
#define RECORD_CAPTURE_ROTATION_H

#include <stdbool.h>
#include <stdint.h>

#include <ptl/reader.h>
#include <ptl/writer.h>

#include "record/capture/background.h"
#include "record/capture/next_file.h"
#include "record/capture/output.h"
#include "record/capture/series_rest.h"

struct record_capture;

struct record_rotation {
	struct record_next_file *next; /* next file in preparation; NULL otherwise */
	/* the initial records of the current file are being written, up to position `begun` */
	bool begins;
	uint64_t begun;
	bool failed;                    /* a file of the series is incomplete */
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
	uint32_t count;                /* number of files started after the first; each needs a PSB of each stream */
	struct ptl_writer_counts past; /* counts of complete files */
};

/* Starts the next file, or ends the recording, if due. */
int record_rotation_step(struct record_capture *capture, uint64_t now);
/* Copies code that the event refers to from the previous file into the current file. */
int record_rotation_code(struct record_capture *capture, const struct ptl_event *event);
/* Waits until the file in background completion is complete. */
void record_rotation_await(struct record_capture *capture);
/* Completes all previous files at the end of the recording. */
int record_rotation_finish(struct record_capture *capture, uint64_t now);
void record_rotation_free(struct record_capture *capture);
/* Returns the counts of all files so far, with the current file. */
void record_capture_counts(const struct record_capture *capture, struct ptl_writer_counts *counts);
/* Writes all buffered data of all files. */
int record_capture_flush(struct record_capture *capture);

#endif
