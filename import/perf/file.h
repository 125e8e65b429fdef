/* SPDX-License-Identifier: BSD-2-Clause */
/* A perf.data file as a sequence of records, as perf wrote it to a file or to a pipe, compressed or not. */
#ifndef IMPORT_PERF_FILE_H
#define IMPORT_PERF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/trace.h>

#include "import/perf/layout.h"

/* A record without its header. body lives until the next one is asked for. */
struct perf_record {
	uint32_t type;
	uint16_t misc;
	size_t size; /* of body */
	const uint8_t *body;
	uint64_t offset; /* in the file, of the record or of the compressed one that holds it */
};

/* Where a feature's bytes are. */
struct perf_section {
	uint64_t offset;
	uint64_t size; /* 0: the feature is not there */
};

struct perf_file;

/* Whether these are the first bytes of a perf.data file, of a machine of any byte order. */
bool perf_file_is(const uint8_t *data, size_t size);

/*
 * Opens a file; fd stays the caller's, and must be seekable. Texts of failures have offsets but not the name.
 * PTL_NOT_OURS, PTL_UNSUPPORTED (another byte order, a
 * folder of files), PTL_TRUNCATED, PTL_CORRUPT, PTL_NO_MEMORY, PTL_SYSTEM.
 */
int perf_file_open(int fd, struct perf_file **file);
/* A file of nothing but records: a part of a folder. Otherwise the same. */
int perf_file_open_part(int fd, struct perf_file **file);
void perf_file_close(struct perf_file *file);

/* Whether perf wrote it to a pipe: attributes and features come as records then. */
bool perf_file_is_pipe(const struct perf_file *file);
uint64_t perf_file_size(const struct perf_file *file);
/* When it was written last, in nanoseconds since 1970 UTC: after all that is in it. */
int64_t perf_file_written(const struct perf_file *file);

/* The attribute table of a file that is no pipe. */
struct perf_section perf_file_attrs(const struct perf_file *file, size_t *entry_size);
/* Names of tracepoints by number, in files of perf up to Linux 3.10: each a HEADER_EVENT_TYPE record's body. */
struct perf_section perf_file_event_types(const struct perf_file *file);
struct perf_section perf_file_feature(const struct perf_file *file, unsigned feature);

/* Reads size bytes at offset; PTL_TRUNCATED, PTL_SYSTEM. */
int perf_file_read(const struct perf_file *file, uint64_t offset, void *data, size_t size);

/*
 * The next record: 1, or 0 at the end. After a failure the rest of the file cannot be read: PTL_CORRUPT or
 * PTL_TRUNCATED with offset and cause; PTL_NO_MEMORY, PTL_SYSTEM.
 */
int perf_file_next(struct perf_file *file, struct perf_record *record);

/*
 * The bytes that follow the AUXTRACE or TRACING_DATA record just read, in pieces; what is not asked for is
 * skipped. Returns the number put into data, 0 at their end; PTL_TRUNCATED where the file ends, PTL_SYSTEM.
 */
int perf_file_payload(struct perf_file *file, uint8_t *data, size_t size);

/* Where in the file these bytes go on. */
uint64_t perf_file_payload_offset(const struct perf_file *file);

struct format_input_hash;

/* Adds the whole file to a hash. PTL_SYSTEM, PTL_NO_MEMORY, PTL_CANCELLED. */
int perf_file_hash(const struct perf_file *file, struct format_input_hash *hash);

#endif
