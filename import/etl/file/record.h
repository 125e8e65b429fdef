/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses the events of a buffer, with headers of all kinds. */
#ifndef IMPORT_ETL_FILE_RECORD_H
#define IMPORT_ETL_FILE_RECORD_H

#include <stdbool.h>

#include <ptl/event.h>

#include "import/etl/file/file.h"

enum etl_kind {
	ETL_KIND_EVENT,   /* EVENT_HEADER: event of a manifest, EventSource or TraceLogging */
	ETL_KIND_CLASSIC, /* EVENT_TRACE_HEADER: class with a GUID */
	ETL_KIND_SYSTEM,  /* kernel event; the group determines the class */
	ETL_KIND_MESSAGE, /* WPP message */
};

struct etl_record {
	uint8_t kind;         /* enum etl_kind */
	uint8_t header;       /* enum etl_header */
	uint8_t pointer_size; /* 4 or 8; pointer size of the writer */
	bool has_time;
	bool has_cpu_times; /* kernel and user are valid */
	struct ptl_descriptor descriptor;
	uint64_t time; /* ticks */
	uint32_t pid, tid;
	bool tid_inferred;                 /* see import/etl/thread.h */
	uint32_t kernel, user;             /* thread times, in timer ticks */
	uint16_t hook;                     /* group and type of ETL_KIND_SYSTEM */
	const uint8_t *activity, *related; /* GUIDs of 16 bytes, or NULL */
	const uint8_t *extended;           /* extended items, already checked; NULL: none */
	size_t extended_size;
	const uint8_t *payload;
	size_t payload_size;
};

/* An event whose header was not parsed. A survey needs no more of most events. */
struct etl_raw {
	const uint8_t *event;
	uint16_t size, least; /* sizes of the event and of its header */
	uint8_t header;       /* enum etl_header */
};

/* The two steps of etl_record_next: find an event, parse its header. */
int etl_record_find(const struct etl_buffer *buffer, size_t *at, struct etl_raw *raw);
int etl_record_read(const struct etl_raw *raw, struct etl_record *record);
/* Tells whether an event is a kernel event, and returns its group and type. */
bool etl_raw_is_system(const struct etl_raw *raw);
uint16_t etl_raw_hook(const struct etl_raw *raw);
/* Returns the event's time in ticks; a meaningless value if the event has no time. */
uint64_t etl_raw_time(const struct etl_raw *raw);

/*
 * Parses the event at *at, and advances *at. Returns 1; 0: no more events; PTL_CORRUPT: wrong length or kind of an
 * event; the rest of the buffer is unreadable, and *at stays.
 */
int etl_record_next(const struct etl_buffer *buffer, size_t *at, struct etl_record *record);

/* Returns the extended item at *at, and advances *at; false: no more items. */
bool etl_record_extended(const struct etl_record *record, size_t *at, struct ptl_extended *item);

#endif
