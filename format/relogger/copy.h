/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies buffers and streams of the inputs. */
#ifndef FORMAT_RELOGGER_COPY_H
#define FORMAT_RELOGGER_COPY_H

#include <stddef.h>
#include <stdint.h>

#include <ptl/relogger.h>

#include "format/relogger/stream.h"

/* Copies the bytes [first, end) of one buffer. A whole buffer is copied without decompression. */
int format_relogger_copy_range(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream,
			       size_t entry, uint64_t first, uint64_t end);
int format_relogger_copy_hole(struct ptl_relogger *relogger, const struct format_relogger_stream *target, uint64_t size,
			      uint64_t time);
/* Copies a stream; plan (may be NULL) selects ranges. */
int format_relogger_copy_stream(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream,
				const struct ptl_stream_plan *plan);
/*
 * Copies a buffer unchanged, or recompressed; skips a damaged buffer. look() (may be NULL) gets the buffer's bytes in
 * the file, with `input` as its context.
 */
int format_relogger_copy_buffer(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream,
				size_t entry,
				int (*look)(void *context, uint64_t offset, const uint8_t *data, size_t size));
/* Copies a buffer of blobs unchanged, or recompressed. Skips damage. */
int format_relogger_copy_blobs(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream,
			       size_t entry);

#endif
