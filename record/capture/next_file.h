/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The next file of a series while it is prepared: the code of those who live goes there from the file at hand, on a thread of its own,
 * so that the recording is not delayed however much that is.
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
 * Begins to prepare the next file of the capture's series, with this machine record and with what the file at hand has of these blobs,
 * whose list it takes over. PTL_NO_MEMORY.
 */
int record_next_file_new(struct record_capture *capture, uint8_t (*hashes)[PTL_HASH_SIZE], size_t count);
/* What is stored meanwhile, and is to be there, too. PTL_NO_MEMORY. */
int record_next_file_blob(struct record_next_file *next, uint32_t type, const void *data, size_t size);
/* What was stored meanwhile took too much memory to be kept. */
bool record_next_file_overflowed(const struct record_next_file *next);
/* Until it is ready, or for so long. */
void record_next_file_await(const struct record_next_file *next, unsigned milliseconds);
/* Whether it is ready since this was last asked, or could not be opened, which is *status. wait: until then. */
bool record_next_file_done(struct record_next_file *next, bool wait, int *status);
/*
 * It is ready: gives it to the series, and its output; *code is the file at hand, as far as it had been written when this began, for
 * its code; NULL: it cannot be read. What was stored since is in the next file.
 */
int record_next_file_take(struct record_next_file *next, struct record_output *output, struct ptl_trace **code);
/* Waits; a file that was not taken is removed. */
void record_next_file_free(struct record_next_file *next);

#endif
