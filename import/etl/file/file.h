/* SPDX-License-Identifier: BSD-2-Clause */
/* An .etl file as a sequence of buffers. */
#ifndef IMPORT_ETL_FILE_FILE_H
#define IMPORT_ETL_FILE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the first event says about the whole file: TRACE_LOGFILE_HEADER. */
struct etl_log_header {
	uint32_t buffer_size;
	uint32_t version; /* of Windows: major, minor and two more bytes */
	uint32_t build;   /* ProviderVersion */
	uint32_t processors;
	uint64_t end_time;         /* FILETIME, 0 unknown, as all of these */
	uint32_t timer_resolution; /* of thread times, 100 ns */
	uint32_t mode;
	uint32_t pointer_size; /* 4 or 8 */
	uint32_t events_lost;
	uint32_t cpu_mhz;
	int32_t bias; /* minutes: UTC = local time + bias */
	uint64_t boot_time;
	uint64_t frequency; /* of the performance counter, Hz */
	uint64_t start_time;
	uint32_t clock; /* enum etl_clock */
	uint32_t buffers_lost;
	uint64_t first_time;  /* of the event itself, in ticks of the clock */
	uint32_t compression; /* enum etl_compression */
};

struct etl_buffer {
	uint64_t offset; /* in the file */
	uint64_t sequence;
	uint16_t cpu;
	uint16_t flags; /* enum etl_buffer_flag */
	uint16_t type;
	bool cut;            /* the file, or what was compressed, ends before the buffer's events do */
	const uint8_t *data; /* its header, then its events */
	size_t size;         /* where the events end */
};

struct etl_file;

/* Whether a file that begins with these bytes (128 or more, where the file has them) is an .etl file. */
bool etl_file_is(const uint8_t *data, size_t size);

/* fd can be sought, and stays the caller's. PTL_CORRUPT, PTL_TRUNCATED, PTL_SYSTEM, PTL_NO_MEMORY. */
int etl_file_open(int fd, struct etl_file **file);
void etl_file_close(struct etl_file *file);
uint64_t etl_file_size(const struct etl_file *file);
const struct etl_log_header *etl_file_header(const struct etl_file *file);
/* Back to the first buffer. */
void etl_file_rewind(struct etl_file *file);
/*
 * The next buffer, which lives until the next call: 1; 0 at the end. PTL_CORRUPT, PTL_TRUNCATED, PTL_UNSUPPORTED: this
 * one cannot be read, and the next call goes on behind it; *buffer has its offset. PTL_SYSTEM.
 */
int etl_file_next(struct etl_file *file, struct etl_buffer *buffer);

#endif
