/* SPDX-License-Identifier: BSD-2-Clause */
/* The events of a buffer: headers of all kinds. */
#ifndef IMPORT_ETL_FILE_RECORD_H
#define IMPORT_ETL_FILE_RECORD_H

#include <stdbool.h>

#include <ptl/event.h>

#include "import/etl/file/file.h"

enum etl_kind {
	ETL_KIND_EVENT,   /* EVENT_HEADER: of a manifest, EventSource or TraceLogging */
	ETL_KIND_CLASSIC, /* EVENT_TRACE_HEADER: a class with a GUID */
	ETL_KIND_SYSTEM,  /* of the kernel: a class by its group */
	ETL_KIND_MESSAGE, /* WPP */
};

struct etl_record {
	uint8_t kind;         /* enum etl_kind */
	uint8_t header;       /* enum etl_header */
	uint8_t pointer_size; /* of what wrote it: 4 or 8 */
	bool has_time;
	bool has_cpu_times; /* kernel and user are known */
	struct ptl_descriptor descriptor;
	uint64_t time; /* ticks */
	uint32_t pid, tid;
	bool tid_inferred;                 /* import/etl/thread.h */
	uint32_t kernel, user;             /* times of the thread, in ticks of the timer */
	uint16_t hook;                     /* of ETL_KIND_SYSTEM: group and type */
	const uint8_t *activity, *related; /* 16 bytes, or NULL */
	const uint8_t *extended;           /* items, which have been checked; NULL: none */
	size_t extended_size;
	const uint8_t *payload;
	size_t payload_size;
};

/* An event whose bytes have been measured, but not read: that is all that most of them need in a survey. */
struct etl_raw {
	const uint8_t *event;
	uint16_t size, least; /* of the event, of its header */
	uint8_t header;       /* enum etl_header */
};

/* The same as etl_record_next, which is these two. */
int etl_record_find(const struct etl_buffer *buffer, size_t *at, struct etl_raw *raw);
int etl_record_read(const struct etl_raw *raw, struct etl_record *record);
/* Whether it is one of the kernel's, and its group and type. */
bool etl_raw_is_system(const struct etl_raw *raw);
uint16_t etl_raw_hook(const struct etl_raw *raw);
/* Its time, as the file counts; a value without meaning of one that has none. */
uint64_t etl_raw_time(const struct etl_raw *raw);

/*
 * The event at *at, which moves on: 1; 0: no more. PTL_CORRUPT: the rest of the buffer cannot be read, as an event's
 * length or kind is wrong; *at stays.
 */
int etl_record_next(const struct etl_buffer *buffer, size_t *at, struct etl_record *record);

/* The item at *at, which moves on; false: no more. */
bool etl_record_extended(const struct etl_record *record, size_t *at, struct ptl_extended *item);

#endif
