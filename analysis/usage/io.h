/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adds the input and output of a trace up: operations, bytes and time of each process on disks, files, sockets and
 * network interfaces. Reads tracepoints of Linux and classes of the kernel of Windows.
 */
#ifndef ANALYSIS_USAGE_IO_H
#define ANALYSIS_USAGE_IO_H

#include "analysis/input/input.h"
#include "flow/timeline/timeline.h"

/*
 * Media. An operation may appear in several media, as a read of a file that reads a disk. Sums of different media
 * must not be added.
 */
enum usage_medium {
	USAGE_DISK,      /* requests to disks */
	USAGE_DISK_FILE, /* the same requests by file, where the events name files; pages read into memory, by file */
	USAGE_FILE,      /* system calls on descriptors, and file operations of Windows */
	USAGE_SOCKET,    /* messages of sockets */
	USAGE_INTERFACE, /* packets of network interfaces */
	USAGE_MEDIA,
};

enum usage_operation { USAGE_READ, USAGE_WRITE, USAGE_OTHER, USAGE_OPERATIONS };

/* Sums of operations that ended within the window. */
struct usage_io_sum {
	uint64_t count[USAGE_OPERATIONS];
	uint64_t bytes[USAGE_OPERATIONS];
	uint64_t errors;
	uint64_t timed;               /* operations with a known duration */
	uint64_t time;                /* nanoseconds within the window, of operations that overlap or not */
	uint64_t longest, longest_at; /* longest_at: time of the end */
	uint64_t unfinished;          /* operations whose end is not in the window */
	uint64_t unfinished_time;     /* nanoseconds from their beginnings to the end of the window */
};

struct usage_io_process {
	uint32_t pid;     /* PTL_NO_ID: unknown, or an interrupt */
	uint32_t process; /* index in the timeline; FLOW_NONE: unknown */
};

struct usage_io_object {
	enum usage_medium medium;
	char *name;    /* "254:0", "/etc/passwd", "fd 3 of 4711"; owned */
	uint64_t busy; /* nanoseconds with at least one request; disks of Linux only */
	bool has_busy;
	uint64_t in_flight, finished, busy_since; /* state of the fold */
};

/* A process's operations on an object. */
struct usage_io_use {
	uint32_t process, object;
	struct usage_io_sum sum;
};

struct usage_io {
	uint64_t first, last; /* the window */
	struct usage_io_process *processes;
	size_t process_count, process_capacity;
	struct usage_io_object *objects;
	size_t object_count, object_capacity;
	struct usage_io_use *uses;
	size_t use_count, use_capacity;
	uint64_t events;  /* events of the known kinds in the window */
	uint64_t unbegun; /* ends of operations whose beginning is not in the trace */
	uint64_t unended; /* system calls whose end is missing: the thread has begun another call */
	uint64_t lost;    /* events that the trace reports as lost */
	struct usage_io_state *state;
};

/* Reads the trace. The window is --time of the input's filter, within the trace. Call usage_io_free in any case. */
int usage_io_read(struct usage_io *io, const struct analysis_input *input, const struct flow_timeline *timeline);
void usage_io_free(struct usage_io *io);

extern const char *const usage_medium_names[USAGE_MEDIA];

void usage_io_sum_add(struct usage_io_sum *to, const struct usage_io_sum *sum);
/* Returns the number of operations of a sum. */
uint64_t usage_io_operations(const struct usage_io_sum *sum);

#endif
