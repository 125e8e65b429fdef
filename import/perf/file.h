/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a perf.data file as a sequence of records. Handles files and pipes, compressed or not. */
#ifndef IMPORT_PERF_FILE_H
#define IMPORT_PERF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/trace.h>

#include "perf/layout.h"

/* A record without its header. body is valid until the next record is read. */
struct perf_record {
	uint32_t type;
	uint16_t misc;
	size_t size; /* bytes of body */
	const uint8_t *body;
	uint64_t offset; /* file offset of the record, or of the compressed record that contains the record */
};

/* Position of a feature in the file. */
struct perf_section {
	uint64_t offset;
	uint64_t size; /* 0: the file lacks the feature */
};

struct perf_file;

/* Whether data begins a perf.data file of any byte order. */
bool perf_file_is(const uint8_t *data, size_t size);

/*
 * Opens a file. fd must be seekable, and stays the caller's. Error texts have offsets, but no file name. Returns
 * PTL_NOT_OURS, PTL_UNSUPPORTED (other byte order, folder of files), PTL_TRUNCATED, PTL_CORRUPT, PTL_NO_MEMORY,
 * PTL_SYSTEM.
 */
int perf_file_open(int fd, struct perf_file **file);
/* As perf_file_open, for a part of a folder: a file of records without a header. */
int perf_file_open_part(int fd, struct perf_file **file);
void perf_file_close(struct perf_file *file);

/* Whether perf wrote the file to a pipe. Attributes and features are then records. */
bool perf_file_is_pipe(const struct perf_file *file);
uint64_t perf_file_size(const struct perf_file *file);
/* Returns the time of the last write in nanoseconds since 1970 UTC. All recorded data is older. */
int64_t perf_file_written(const struct perf_file *file);

/* Returns the attribute table of a file that was not a pipe. */
struct perf_section perf_file_attrs(const struct perf_file *file, size_t *entry_size);
/*
 * Returns the table of tracepoint names by number, of perf up to Linux 3.10. Each entry is the body of a
 * HEADER_EVENT_TYPE record.
 */
struct perf_section perf_file_event_types(const struct perf_file *file);
struct perf_section perf_file_feature(const struct perf_file *file, unsigned feature);

int perf_file_fd(const struct perf_file *file);

/* Reads `size` bytes at offset. Returns PTL_TRUNCATED, PTL_SYSTEM. */
int perf_file_read(const struct perf_file *file, uint64_t offset, void *data, size_t size);

/*
 * Reads the next record. Returns 1; 0 at the end; PTL_CORRUPT or PTL_TRUNCATED with offset and cause, PTL_NO_MEMORY,
 * PTL_SYSTEM. After a failure the rest of the file is unreadable.
 */
int perf_file_next(struct perf_file *file, struct perf_record *record);

/*
 * Reads the payload behind the last AUXTRACE or TRACING_DATA record piece by piece. perf_file_next skips unread
 * payload. Returns the bytes put into data; 0 at the end of the payload; PTL_TRUNCATED at the end of the file;
 * PTL_SYSTEM.
 */
int perf_file_payload(struct perf_file *file, uint8_t *data, size_t size);

/* Returns the file offset of the next byte of the payload. */
uint64_t perf_file_payload_offset(const struct perf_file *file);

struct format_input_hash;

/* Adds all bytes of the file to a hash. Returns PTL_SYSTEM, PTL_NO_MEMORY, PTL_CANCELLED. */
int perf_file_hash(const struct perf_file *file, struct format_input_hash *hash);

#endif
