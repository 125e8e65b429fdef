/* SPDX-License-Identifier: BSD-2-Clause */
/* Blobs from possibly large files, with cancellation for the relogger. */
#ifndef FORMAT_WRITER_BLOB_FILE_H
#define FORMAT_WRITER_BLOB_FILE_H

#include <stdatomic.h>
#include <stdint.h>

#include <ptl/writer.h>

/* As ptl_writer_blob_file, and PTL_CANCELLED once *cancelled is true; cancelled may be NULL. */
int format_writer_blob_file(struct ptl_writer *writer, uint32_t type, int fd, uint64_t offset, uint64_t size,
			    const atomic_bool *cancelled, uint8_t hash[PTL_HASH_SIZE]);

#endif
