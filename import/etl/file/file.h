/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads an .etl file as a sequence of buffers. */
#ifndef IMPORT_ETL_FILE_FILE_H
#define IMPORT_ETL_FILE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Description of the file in its first event: TRACE_LOGFILE_HEADER. */
struct etl_log_header {
	uint32_t buffer_size;
	uint32_t version; /* Windows version: major, minor and two more bytes */
	uint32_t build;   /* ProviderVersion */
	uint32_t processors;
	uint64_t end_time;         /* this and other absolute times: FILETIME, 0: unknown */
	uint32_t timer_resolution; /* unit of thread times, in 100 ns */
	uint32_t mode;
	uint32_t pointer_size; /* 4 or 8 */
	uint32_t events_lost;
	uint32_t cpu_mhz;
	int32_t bias; /* minutes: UTC = local time + bias */
	uint64_t boot_time;
	uint64_t frequency; /* Hz of the performance counter */
	uint64_t start_time;
	uint32_t clock; /* enum etl_clock */
	uint32_t buffers_lost;
	uint64_t first_time;  /* time of the event itself, in clock ticks */
	uint32_t compression; /* enum etl_compression */
};

struct etl_buffer {
	uint64_t offset; /* file offset */
	uint64_t sequence;
	uint16_t cpu;
	uint16_t flags; /* enum etl_buffer_flag */
	uint16_t type;
	bool cut;            /* the file, or the compressed data, ends before the buffer's events */
	const uint8_t *data; /* buffer header, then events */
	size_t size;         /* end of the events */
};

struct etl_file;

/* Whether data begins an .etl file. size: at least 128, unless the file is shorter. */
bool etl_file_is(const uint8_t *data, size_t size);

/*
 * Opens a file. fd must be seekable, and stays the caller's. Returns PTL_CORRUPT, PTL_TRUNCATED, PTL_SYSTEM,
 * PTL_NO_MEMORY.
 */
int etl_file_open(int fd, struct etl_file **file);
void etl_file_close(struct etl_file *file);
uint64_t etl_file_size(const struct etl_file *file);
const struct etl_log_header *etl_file_header(const struct etl_file *file);
/* Continues with the first buffer. */
void etl_file_rewind(struct etl_file *file);
/*
 * Reads the next buffer, which is valid until the next call. Returns 1; 0 at the end; PTL_SYSTEM. PTL_CORRUPT,
 * PTL_TRUNCATED, PTL_UNSUPPORTED: this buffer is unreadable, *buffer has its offset, and the next call continues behind
 * the buffer.
 */
int etl_file_next(struct etl_file *file, struct etl_buffer *buffer);

#endif
