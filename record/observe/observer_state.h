/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of the observer. */
#ifndef RECORD_OBSERVE_OBSERVER_STATE_H
#define RECORD_OBSERVE_OBSERVER_STATE_H

#include "common/hash_map.h"
#include "record/observe/observer.h"
#include "record/perf/sideband.h"
#include "record/proc/maps.h"
#include "record/proc/proc_files.h"

/* An executable mapping, with the members that distinguish mappings. */
struct record_observed_map {
	uint64_t base;
	uint64_t size;
	uint64_t file_offset;
	uint64_t device;
	uint64_t inode;
	uint32_t protection;
};

/* A program whose execve was reported, until the next report about the process. */
struct record_executed {
	bool pending;
	uint64_t time;
	char name[RECORD_THREAD_NAME_MAX + 1];
	struct ptl_bytes strings; /* empty if unknown */
};

struct record_observed {
	uint32_t pid;
	uint32_t number;         /* number in the model */
	uint64_t start_ticks;    /* distinguishes processes with a reused pid */
	uint64_t program;        /* as in struct record_proc_stat */
	uint64_t looked;         /* time of the last look */
	uint64_t program_looked; /* time of the last look at the program */
	uint64_t dead_since;     /* time of the end by a report or a look; 0 while alive */
	uint64_t epoch;
	int pidfd;     /* -1 without */
	bool ours;     /* the command, for which the recorder waits */
	bool found;    /* ran before the first look */
	bool attached; /* no descendant of the command; its children are not followed */
	bool reported; /* the kernel reports the process; looks complete the reports */
	bool began;    /* the command's first program was reported */
	bool has_code; /* mappings of the current program were reported */
	bool named;    /* a thread of the current program got a name */
	struct record_executed executed;
	bool threads_reported;
	bool maps_reported;
	bool ended;
	struct common_hash_map threads;    /* time of the last look at the thread, by tid */
	struct common_hash_map code_pages; /* hash of the page at the last read, by address of pages without a file */
	struct record_observed_map *maps;
	size_t map_count;
	size_t map_capacity;
	uint64_t maps_looked; /* time of the last look at mappings */
	uint64_t maps_due;
	uint64_t maps_wait;
};

struct record_observer {
	struct record_capture *capture;
	uint32_t next_number;
	bool follows;                     /* follows children of the recorder and their descendants */
	struct common_hash_map processes; /* struct record_observed * by pid */
	uint32_t *pids;                   /* scratch memory */
	size_t pid_capacity;
	uint64_t looked;  /* start of the last complete look */
	uint64_t looking; /* start of the last look, complete or not */
	uint64_t due;
	struct record_sideband *sideband; /* NULL without permission */
	uint64_t sideband_lost;
	bool reads_code;                 /* reads code without a file from memory */
	uint64_t code_lost;              /* number of mappings whose code could not be read */
	struct common_hash_map pidfds;   /* pidfd by pid, for processes whose start is pending */
	bool looks_closely;              /* reports were lost: the next look covers everything */
	bool looks_again;                /* the look after the next covers everything too */
	bool finishing;                  /* no report follows: dead processes end at once */
	struct common_hash_map reported; /* time of the report, by pid of reported and ended processes */
};

/* Returns a fact about the process. The caller completes and sends the fact. */
struct record_fact record_observer_fact(const struct record_observed *process, enum record_fact_kind kind,
					uint64_t time);
int record_observer_send(const struct record_observer *observer, const struct record_fact *fact);

struct record_observed *record_observer_find(const struct record_observer *observer, uint32_t pid);
/* stat: known values of the process. */
int record_observer_add(struct record_observer *observer, uint32_t pid, const struct record_proc_stat *stat,
			struct record_observed **result);
/* Forgets a process whose pid was reused, and ends the process before if needed. */
int record_observer_forget(struct record_observer *observer, struct record_observed *process, uint64_t now);
bool record_observer_is_dead(const struct record_observed *process);
/*
 * Reports the start of a process. forked_from: parent whose memory the child copies; NULL for a child with its own
 * program.
 */
int record_observer_send_start(struct record_observer *observer, const struct record_observed *process,
			       const struct record_observed *forked_from, uint32_t parent, uint64_t time);
/* Reports the program of a process, described by these strings. */
int record_observer_send_program(struct record_observer *observer, struct record_observed *process,
				 const struct ptl_bytes *strings, uint64_t time);
/* Reports the program of a process as shown by /proc. */
int record_observer_send_found_program(struct record_observer *observer, struct record_observed *process,
				       uint64_t time);
/* Adds the child of a followed process, or of a process that ended unseen. */
int record_observer_add_child(struct record_observer *observer, uint32_t pid, const struct record_proc_stat *stat);
/* Schedules looks at the mappings of a new program: soon, and then with growing delays. */
void record_observer_look_at_maps_soon(struct record_observed *process, uint64_t now);
/* Ends the process at its known time of death, or now. */
int record_observer_end(struct record_observer *observer, struct record_observed *process, uint64_t now);

/* ---- observer_look.c ------------------------------------------------------------------------- */

/* Looks at all known processes and their children. */
int record_observer_look(struct record_observer *observer, uint64_t now);

/* ---- exited_processes.c ------------------------------------------------------------------------- */

/* Returns a start time for a process that lived at `since` and was missed by the last look. */
static inline uint64_t record_observer_start_before(const struct record_observer *observer, uint64_t since)
{
	return since < observer->looked ? since : observer->looked;
}

/* Checks whether a process that started at this time is gone and was reported. */
bool record_observer_was_reported(const struct record_observer *observer, uint32_t pid, uint64_t start);

/* ---- observer_reports.c ---------------------------------------------------------------------- */

/* Returns the pidfd opened at the first report of the process, or a new pidfd; -1 if neither exists. */
int record_observer_pidfd(struct record_observer *observer, uint32_t pid);
/* Handles kernel reports up to this time. */
int record_observer_take_reports(struct record_observer *observer, uint64_t until);
/*
 * Checks for pending reports of the process. program: set for an execve. mapping: set for a mapping or a child.
 * Collects all reports so far. Fails with PTL_NO_MEMORY.
 */
int record_observer_awaits(struct record_observer *observer, uint32_t pid, bool *program, bool *mapping);
/* Sends the program of the last reported execve, if pending. */
int record_observer_complete_program(struct record_observer *observer, struct record_observed *process);
/* Reports the number of lost kernel reports. */
int record_observer_lose_reports(struct record_observer *observer);

/* ---- observer_code.c ------------------------------------------------------------------------- */

/* Reads wanted code of a mapping without a file into the trace and image. deleted: the file has no name. */
int record_observer_read_code(struct record_observer *observer, struct record_observed *process,
			      const struct record_observed_map *map, bool deleted, struct ptl_image_event *image);
/* Reads the code again later, and reports changes. */
int record_observer_read_again(struct record_observer *observer, struct record_observed *process,
			       const struct record_observed_map *map, bool deleted, uint64_t now);
/* Reports the number of mappings with unreadable code. */
int record_observer_lose_code(struct record_observer *observer);

/* ---- observer_maps.c ------------------------------------------------------------------------- */

/* Reports executable mappings that were added and removed since the last look. */
int record_observer_look_at_maps(struct record_observer *observer, struct record_observed *process, uint64_t now);
/* Reports a mapping at process->maps_looked. entry: the mapping's file. */
int record_observer_send_load(struct record_observer *observer, struct record_observed *process,
			      const struct record_observed_map *map, const struct record_map_entry *entry);
/*
 * Adds a mapping in the kernel's notation, in place of overlapping mappings. Returns 1; 0 if already known;
 * PTL_NO_MEMORY.
 */
int record_observer_note_map(struct record_observed *process, const struct record_observed_map *map);
/* Copies the mappings of the parent to a forked child. */
int record_observer_inherit(struct record_observed *child, const struct record_observed *parent);

#endif
