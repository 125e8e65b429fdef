/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prepares the next file of a series on a separate thread: copies the code of living processes from the current file.
 * Much code therefore does not delay the recording.
 */
#ifndef RECORD_CAPTURE_NEXT_FILE_H
#define RECORD_CAPTURE_NEXT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/reader.h>
#include <ptl/writer.h>

#include "record/capture/output.h"
#include "record/capture/series.h"

struct record_capture;
struct record_next_file;

/*
 * Starts preparing the next file of the capture's series: writes the machine record, and copies the blobs with these
 * hashes from the current file. Takes over `hashes`. Fails with PTL_NO_MEMORY.
 */
int record_next_file_new(struct record_capture *capture, uint8_t (*hashes)[PTL_HASH_SIZE], size_t count);
/* Adds a blob that arrives during the preparation. Fails with PTL_NO_MEMORY. */
int record_next_file_blob(struct record_next_file *next, uint32_t type, const void *data, size_t size);
/* Checks whether the blobs that arrived during the preparation took too much memory, and were dropped. */
bool record_next_file_overflowed(const struct record_next_file *next);
/* Waits until the file is ready, at most `milliseconds`. */
void record_next_file_await(const struct record_next_file *next, unsigned milliseconds);
/* Returns true once after the preparation, with its result in *status. wait: waits for the end. */
bool record_next_file_done(struct record_next_file *next, bool wait, int *status);
/*
 * Makes the ready file a part of the series, and writes the added blobs to the file.
 * output: set to the output of the file.
 * code: set to a trace of the current file, up to the start of the preparation, to read code from; NULL if unreadable.
 */
int record_next_file_take(struct record_next_file *next, struct record_output *output, struct ptl_trace **code);
/* Waits for the preparation. Removes a file that record_next_file_take did not take. */
void record_next_file_free(struct record_next_file *next);

#endif
