/* SPDX-License-Identifier: BSD-2-Clause */
/* A timeline of calls, events, gaps and counters, in a format that viewers of traces read. */
#ifndef DUMP_EXPORT_TIMELINE_TIMELINE_H
#define DUMP_EXPORT_TIMELINE_TIMELINE_H

#include "common/hash_map.h"
#include "dump/call/call_session.h"
#include "dump/export/export.h"

/* No track: of no process. */
#define DUMP_TIMELINE_NONE 0u

/* A row of the timeline; its number is its index, from 1 on. */
struct dump_timeline_track {
	uint32_t pid, tid;
};

/* What a timeline is written to. */
struct dump_timeline_output {
	struct dump_session *session;
	const struct dump_timeline_format *format;
	struct ptl_bytes bytes; /* not written yet */
	/* Names by number; safe for a terminal, UTF-8. */
	char **names; /* owned, and so is each */
	size_t name_count, name_capacity;
	struct common_byte_map by_name;
	struct dump_timeline_track *tracks; /* owned */
	size_t track_count, track_capacity;
	/* The format's own. */
	uint32_t sequence;  /* of packets */
	uint64_t last_time; /* of the sequence */
	uint32_t default_track;
	uint32_t *interned; /* owned; by name: the sequence that has it */
	size_t interned_capacity;
	struct ptl_bytes packet, message, inner;
	uint64_t written;
};

/*
 * Times are nanoseconds since the start of the trace. What follows a sequence is in order of time, until the next one; all
 * tracks are made before they are used. Failures are left in bytes.failed.
 */
struct dump_timeline_format {
	bool binary;
	void (*start)(struct dump_timeline_output *output);
	void (*process)(struct dump_timeline_output *output, uint32_t track, const char *name,
			const char *command_line);
	/* parent is a process, or DUMP_TIMELINE_NONE. */
	void (*thread)(struct dump_timeline_output *output, uint32_t track, uint32_t parent, const char *name);
	/* Another row below a parent. */
	void (*row)(struct dump_timeline_output *output, uint32_t track, uint32_t parent, const char *name);
	void (*counter)(struct dump_timeline_output *output, uint32_t track, uint32_t parent, const char *name);
	void (*sequence)(struct dump_timeline_output *output, uint32_t track, uint64_t time);
	void (*begin)(struct dump_timeline_output *output, uint32_t track, uint64_t time, uint32_t name);
	void (*end)(struct dump_timeline_output *output, uint32_t track, uint64_t time);
	/* flow: events of the same one are joined by arrows; 0: none. */
	void (*instant)(struct dump_timeline_output *output, uint32_t track, uint64_t time, uint32_t name,
			uint64_t flow);
	void (*count)(struct dump_timeline_output *output, uint32_t track, uint64_t time, uint64_t value,
		      uint32_t name);
	/* left_out: NULL, or what is not there. */
	void (*finish)(struct dump_timeline_output *output, const char *left_out);
};

extern const struct dump_timeline_format dump_timeline_perfetto;
extern const struct dump_timeline_format dump_timeline_chrome;

int dump_timeline_track(struct dump_timeline_output *output, uint32_t pid, uint32_t tid, uint32_t *track);
int dump_timeline_name(struct dump_timeline_output *output, const char *words, uint32_t *name);
/* Writes what is there when it is much; PTL_NO_MEMORY, or what dump_output_check returns. */
int dump_timeline_flush(struct dump_timeline_output *output, bool all);
void dump_timeline_output_free(struct dump_timeline_output *output);

struct dump_timeline_options {
	const struct dump_timeline_format *format;
	bool by_instructions;
	uint64_t min_time;
	uint64_t max_slices; /* 0: any number */
};

int dump_timeline(struct dump_call_session *calls, const struct dump_timeline_options *options,
		  struct dump_left_out *left_out);

#endif
