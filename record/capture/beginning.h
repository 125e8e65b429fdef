/* SPDX-License-Identifier: BSD-2-Clause */
/* The records that each file of a capture begins with. */
#ifndef RECORD_CAPTURE_BEGINNING_H
#define RECORD_CAPTURE_BEGINNING_H

#include <ptl/writer.h>

struct record_capture;

/* As ptl_writer_provenance. May run on any thread. */
int record_capture_write_provenance(const struct record_capture *capture, struct ptl_writer *writer);
/* Writes the first records of the first file. */
int record_capture_write_beginning(struct record_capture *capture);

#endif
