/* SPDX-License-Identifier: BSD-2-Clause */
/* What the observer's files share. */
#ifndef RECORD_KERNEL_OBSERVER_STATE_H
#define RECORD_KERNEL_OBSERVER_STATE_H

#include "common/hash_map.h"
#include "record/kernel/observer.h"
#include "record/model/proc_files.h"
#include "record/perf/sideband.h"
#include "record/process/maps.h"

/* An executable mapping, as far as it tells one from another. */
struct record_observed_map {
	uint64_t base;
	uint64_t size;
	uint64_t file_offset;
	uint64_t device;
	uint64_t inode;
	uint32_t protection;
};

/* A program that a report said is executed, until something else is reported of the process. */
struct record_executed {
	bool pending;
	uint64_t time;
	char name[RECORD_THREAD_NAME_MAX + 1];
	struct ptl_bytes strings; /* empty: not known */
};

struct record_observed {
	uint32_t pid;
	uint32_t number;         /* in the model */
	uint64_t start_ticks;    /* differs for a pid that was used again */
	uint64_t program;        /* as in struct record_proc_stat */
	uint64_t looked;         /* when it was last looked at */
	uint64_t program_looked; /* when it was last looked at which program it runs */
	uint64_t dead_since;     /* reported, or found by a look, to have ended; 0: not */
	uint64_t epoch;
	int pidfd;     /* -1: none */
	bool ours;     /* the command: we wait for it */
	bool found;    /* ran before it was first seen */
	bool attached; /* no descendant of the command: its children are not followed */
	bool reported; /* the kernel reports what it does: looks are there for what that leaves out */
	bool began;    /* the command: its first program has been reported */
	bool has_code; /* mappings of the program that it runs were reported */
	bool named;    /* a thread of the program that it runs was given a name */
	struct record_executed executed;
	bool threads_reported;
	bool maps_reported;
	bool ended;
	struct common_hash_map threads; /* tid: when last seen */
	struct common_hash_map
		code_pages; /* address of one without a file: hash of what it was when it was last read */
	struct record_observed_map *maps;
	size_t map_count;
	size_t map_capacity;
	uint64_t maps_looked; /* when they were last looked at */
	uint64_t maps_due;
	uint64_t maps_wait;
};

struct record_observer {
	struct record_capture *capture;
	uint32_t next_number;
	bool follows;                     /* our own children and theirs */
	struct common_hash_map processes; /* pid: struct record_observed * */
	uint32_t *pids;                   /* scratch */
	size_t pid_capacity;
	uint64_t looked;  /* when the last look began */
	uint64_t looking; /* the same, of a look that has not ended, too */
	uint64_t due;
	struct record_sideband *sideband; /* NULL: the kernel does not permit it */
	uint64_t sideband_lost;
	bool reads_code;                 /* code that no file has is read from memory */
	uint64_t code_lost;              /* mappings of which that failed */
	struct common_hash_map pidfds;   /* pid of one whose start was not taken yet: its pidfd */
	bool looks_closely;              /* reports were lost: the next look is at all that there is */
	bool looks_again;                /* so is the one after it */
	bool finishing;                  /* the kernel has reported all: who is dead now is ended at once */
	struct common_hash_map reported; /* pid of one that has been reported and is gone: when it was */
};

/* A fact about the process, to be completed and sent. */
struct record_fact record_observer_fact(const struct record_observed *process, enum record_fact_kind kind,
					uint64_t time);
int record_observer_send(const struct record_observer *observer, const struct record_fact *fact);

struct record_observed *record_observer_find(const struct record_observer *observer, uint32_t pid);
/* stat: what is known of it. */
int record_observer_add(struct record_observer *observer, uint32_t pid, const struct record_proc_stat *stat,
			struct record_observed **result);
/* Another process has its pid: ends it, if it has not ended, and forgets it. */
int record_observer_forget(struct record_observer *observer, struct record_observed *process, uint64_t now);
bool record_observer_is_dead(const struct record_observed *process);
/* A process starts: the child of forked_from, or with a program of its own (NULL). */
int record_observer_send_start(struct record_observer *observer, const struct record_observed *process,
			       const struct record_observed *forked_from, uint32_t parent, uint64_t time);
/* The program that the process runs, by these strings. */
int record_observer_send_program(struct record_observer *observer, struct record_observed *process,
				 const struct ptl_bytes *strings, uint64_t time);
/* The same, from what /proc shows. */
int record_observer_send_found_program(struct record_observer *observer, struct record_observed *process,
				       uint64_t time);
/* The child of a process that is followed, or of one that has ended before it was seen. */
int record_observer_add_child(struct record_observer *observer, uint32_t pid, const struct record_proc_stat *stat);
/* It runs another program: its mappings are looked at soon, then ever more rarely. */
void record_observer_look_at_maps_soon(struct record_observed *process, uint64_t now);
/* It ended now, or when it is known to have. */
int record_observer_end(struct record_observer *observer, struct record_observed *process, uint64_t now);

/* ---- observer_look.c ------------------------------------------------------------------------- */

/* Looks at all processes that are known, and at what they have started. */
int record_observer_look(struct record_observer *observer, uint64_t now);

/* ---- exited_processes.c ------------------------------------------------------------------------- */

/* Whether the process with this pid that started at this time is gone and has been reported. */
/* When a process began that was there at `since`, and had not been seen by the last look. */
static inline uint64_t record_observer_start_before(const struct record_observer *observer, uint64_t since)
{
	return since < observer->looked ? since : observer->looked;
}

bool record_observer_was_reported(const struct record_observer *observer, uint32_t pid, uint64_t start);
/* What is known of a program of which /proc shows nothing any more. */
void record_observer_name_strings(struct ptl_bytes *strings, const char *path, const char *name);

/* ---- observer_reports.c ---------------------------------------------------------------------- */

/* One that was opened when the process was first seen, or a new one; -1: none. */
int record_observer_pidfd(struct record_observer *observer, uint32_t pid);
/* Takes what the kernel reports up to this time. */
int record_observer_take_reports(struct record_observer *observer, uint64_t until);
/*
 * Whether reports wait that the process executes a program; or that it maps something, or has a child. All that was reported by now is
 * collected. PTL_NO_MEMORY.
 */
int record_observer_awaits(struct record_observer *observer, uint32_t pid, bool *program, bool *mapping);
/* Sends the program that the process was last reported to execute, if that waits for what comes next. */
int record_observer_complete_program(struct record_observer *observer, struct record_observed *process);
/* Says how much the kernel could not report. */
int record_observer_lose_reports(struct record_observer *observer);

/* ---- observer_code.c ------------------------------------------------------------------------- */

/* Code of a mapping that no file has, if it is to be read: goes into the trace, and image. deleted: its file has no name. */
int record_observer_read_code(struct record_observer *observer, struct record_observed *process,
			      const struct record_observed_map *map, bool deleted, struct ptl_image_event *image);
/* The same, later: what has changed is reported. */
int record_observer_read_again(struct record_observer *observer, struct record_observed *process,
			       const struct record_observed_map *map, bool deleted, uint64_t now);
/* Says of how many it failed. */
int record_observer_lose_code(struct record_observer *observer);

/* ---- observer_maps.c ------------------------------------------------------------------------- */

/* Reports executable mappings that have come and gone since the last time. */
int record_observer_look_at_maps(struct record_observer *observer, struct record_observed *process, uint64_t now);
/* Reports one mapping, at process->maps_looked. entry says what the path leads to. */
int record_observer_send_load(struct record_observer *observer, struct record_observed *process,
			      const struct record_observed_map *map, const struct record_map_entry *entry);
/*
 * The process has this mapping now, in place of what it overlaps. 1; 0 if it had it before; PTL_NO_MEMORY. As the
 * kernel shows it.
 */
int record_observer_note_map(struct record_observed *process, const struct record_observed_map *map);
/* A forked child has its parent's. */
int record_observer_inherit(struct record_observed *child, const struct record_observed *parent);

#endif
