/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes schemas, attachments and address filters of packets. */
#ifndef RECORD_CAPTURE_CAPTURE_METADATA_H
#define RECORD_CAPTURE_CAPTURE_METADATA_H

#include <ptl/event.h>
#include <ptl/reader.h>

struct record_capture;

/* Adds a description of events. A repeated description costs no room. */
int record_capture_schema(struct record_capture *capture, const struct ptl_schema *schema);
int record_capture_map(struct record_capture *capture, const struct ptl_map *map);
/* Writes an attachment. context: the capture. The type is that of struct elf_image_sink. */
int record_capture_attachment(void *context, const struct ptl_attachment *attachment);
/*
 * Stores address filters of packets, in the kernel's syntax, for each file. Fails with PTL_CORRUPT, PTL_NO_MEMORY or
 * PTL_SYSTEM.
 */
int record_capture_pt_filters(struct record_capture *capture, const char *filters);

#endif
