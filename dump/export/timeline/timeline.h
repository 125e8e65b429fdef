/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a timeline of calls, events, gaps and counters, in a format of trace viewers. */
#ifndef DUMP_EXPORT_TIMELINE_TIMELINE_H
#define DUMP_EXPORT_TIMELINE_TIMELINE_H

#include "common/hash_map.h"
#include "dump/export/export.h"
#include "dump/run/calls.h"

/* Number of no track, as the parent of a track without a process. */
#define DUMP_TIMELINE_NONE 0u

/* A row of the timeline. Its number is its index, from 1. */
struct dump_timeline_track {
	uint32_t pid, tid;
};

/* Output of a timeline. */
struct dump_timeline_output {
	struct dump_run *run;
	const struct dump_timeline_format *format;
	struct ptl_bytes bytes; /* not written yet */
	/* Names by number; UTF-8, safe for a terminal. */
	char **names; /* owned, each too */
	size_t name_count, name_capacity;
	struct common_byte_map by_name;
	struct dump_timeline_track *tracks; /* owned */
	size_t track_count, track_capacity;
	/* Members for the format. */
	uint32_t sequence;  /* current sequence of packets */
	uint64_t last_time; /* last time in the sequence */
	uint32_t default_track;
	uint32_t *interned; /* owned; by name: the last sequence with this name */
	size_t interned_capacity;
	struct ptl_bytes packet, message, inner;
	uint64_t written;
};

/*
 * A format of timelines. Times are nanoseconds since the start of the trace. Events after a call of `sequence` are
 * ordered by time, up to the next call. Tracks are created before use. Functions set bytes.failed without memory.
 */
struct dump_timeline_format {
	bool binary;
	void (*start)(struct dump_timeline_output *output);
	void (*process)(struct dump_timeline_output *output, uint32_t track, const char *name,
			const char *command_line);
	/* parent: a process, or DUMP_TIMELINE_NONE. */
	void (*thread)(struct dump_timeline_output *output, uint32_t track, uint32_t parent, const char *name);
	/* Creates a row below a parent. */
	void (*row)(struct dump_timeline_output *output, uint32_t track, uint32_t parent, const char *name);
	void (*counter)(struct dump_timeline_output *output, uint32_t track, uint32_t parent, const char *name);
	void (*sequence)(struct dump_timeline_output *output, uint32_t track, uint64_t time);
	void (*begin)(struct dump_timeline_output *output, uint32_t track, uint64_t time, uint32_t name);
	void (*end)(struct dump_timeline_output *output, uint32_t track, uint64_t time);
	/* flow: events with the same number are joined by arrows; 0: no arrow. */
	void (*instant)(struct dump_timeline_output *output, uint32_t track, uint64_t time, uint32_t name,
			uint64_t flow);
	void (*count)(struct dump_timeline_output *output, uint32_t track, uint64_t time, uint64_t value,
		      uint32_t name);
	/* left_out: description of omitted data; NULL: none. */
	void (*finish)(struct dump_timeline_output *output, const char *left_out);
};

extern const struct dump_timeline_format dump_timeline_perfetto;
extern const struct dump_timeline_format dump_timeline_chrome;

int dump_timeline_track(struct dump_timeline_output *output, uint32_t pid, uint32_t tid, uint32_t *track);
int dump_timeline_name(struct dump_timeline_output *output, const char *words, uint32_t *name);
/* Writes the bytes if there are many, or if `all`. Returns 0, PTL_NO_MEMORY, or a status of dump_output_check. */
int dump_timeline_flush(struct dump_timeline_output *output, bool all);
void dump_timeline_output_free(struct dump_timeline_output *output);

struct dump_timeline_options {
	const struct dump_timeline_format *format;
	bool by_instructions;
	uint64_t min_time;
	uint64_t max_slices; /* 0: unlimited */
};

int dump_timeline(struct dump_run *run, struct analysis_calls *calls, const struct dump_timeline_options *options,
		  struct dump_left_out *left_out);

#endif
