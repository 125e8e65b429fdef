/* SPDX-License-Identifier: BSD-2-Clause */
/* Who ran when: processes, threads, images and code over time, built once from a trace's events. */
#ifndef FLOW_TIMELINE_TIMELINE_H
#define FLOW_TIMELINE_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/kernel.h>
#include <ptl/reader.h>

/*
 * Processes, threads and images are numbered from 0 in the order in which the trace reports them;
 * a number below is an index into these arrays and stays valid as long as the timeline. FLOW_NONE
 * means none. Strings belong to the timeline. Times are the trace's clock. All functions but build
 * and free only read, and may be called from several threads.
 */
#define FLOW_NONE UINT32_MAX

/* "Has not ended as far as the trace says". */
#define FLOW_TIME_END UINT64_MAX

/* A program that a process ran: the first at its start, a further one at each exec. */
struct flow_program {
	uint64_t time;
	const char *path;         /* never NULL */
	const char *command_line; /* never NULL */
};

struct flow_timeline_process {
	uint32_t pid;
	uint32_t parent_pid;
	uint32_t parent;     /* index of the parent, FLOW_NONE where it is not in the trace */
	uint64_t unique_key; /* 0 where the trace gives none */
	uint64_t start;      /* 0 where it was there before the trace began */
	uint64_t end;        /* FLOW_TIME_END */
	bool started;        /* its start is in the trace, not only its rundown */
	bool ended;
	/* No process event reports it: known from its threads, images or streams only. */
	bool implied;
	bool has_exit_status;
	int32_t exit_status; /* as wait(2) encodes it */
	const char
		*name; /* last component of the last program's path, or of its command's first word; "" where unknown */
	const struct flow_program *programs; /* in order of time; at least one unless implied */
	size_t program_count;
	const uint32_t *images; /* indexes of its images, in order of load */
	size_t image_count;
	const uint32_t *threads; /* indexes of its threads, in order of start */
	size_t thread_count;
};

struct flow_timeline_thread {
	uint32_t process; /* index */
	uint32_t pid;
	uint32_t tid;
	uint64_t start;
	uint64_t end;
	uint64_t start_address; /* 0 unknown */
	bool started;
	bool ended;
	bool implied;
	const char *name; /* never NULL */
};

/*
 * One image (a mapping of code) of one process over time. A mapping that is partly replaced or
 * unmapped keeps its rest: `end` is when its last byte went. A forked process begins with
 * images of its own that are like its parent's.
 */
struct flow_timeline_image {
	uint32_t process;            /* index */
	uint64_t start;              /* when it was loaded; of a forked process: when that began */
	uint64_t end;                /* FLOW_TIME_END */
	bool rundown;                /* was there before the trace began */
	bool inherited;              /* came with the fork */
	struct ptl_image_event data; /* strings belong to the timeline; protection is the last known */
};

struct flow_timeline;

/*
 * Reads the trace's events of the process, thread, image and code classes (unknown versions are
 * skipped and counted). Streams that belong to processes or threads that no event reports make
 * implied ones. PTL_NO_MEMORY, or what ptl_process returns.
 */
int flow_timeline_build(struct ptl_trace *trace, struct flow_timeline **timeline);
/*
 * For a trace that is being written: begins an empty timeline, and adds events to it, in order of time. It has processes with
 * their programs, and threads, as far as events have reported them; no lists of members, and no code. PTL_NO_MEMORY.
 */
int flow_timeline_begin(struct flow_timeline **timeline);
int flow_timeline_event(struct flow_timeline *timeline, const struct ptl_event *event);
void flow_timeline_free(struct flow_timeline *timeline);

size_t flow_timeline_process_count(const struct flow_timeline *timeline);
const struct flow_timeline_process *flow_timeline_process(const struct flow_timeline *timeline, size_t i);
size_t flow_timeline_thread_count(const struct flow_timeline *timeline);
const struct flow_timeline_thread *flow_timeline_thread(const struct flow_timeline *timeline, size_t i);
size_t flow_timeline_image_count(const struct flow_timeline *timeline);
const struct flow_timeline_image *flow_timeline_image(const struct flow_timeline *timeline, size_t i);

/* Events of the four classes that could not be understood, and so are missing from the timeline. */
uint64_t flow_timeline_skipped(const struct flow_timeline *timeline);

/*
 * The process that had pid at time, FLOW_NONE where there was none. A pid that was used several
 * times gives the last process that started at or before time; before all of them, the first.
 */
uint32_t flow_timeline_process_at(const struct flow_timeline *timeline, uint32_t pid, uint64_t time);
/* The same for a thread. */
uint32_t flow_timeline_thread_at(const struct flow_timeline *timeline, uint32_t pid, uint32_t tid, uint64_t time);
/* The program that the process ran at time; NULL for an implied process. */
const struct flow_program *flow_timeline_program_at(const struct flow_timeline *timeline, uint32_t process,
						    uint64_t time);

/*
 * From `time` on, a CPU ran this thread: 0 and 0 for the idle one, PTL_NO_ID where it is not known. Process PTL_NO_ID with
 * thread 0: one that is not recorded, or, until the next switch, what is on its way to that.
 */
struct flow_switch {
	uint64_t time;
	uint32_t pid;
	uint32_t tid;
};

/*
 * The context switches of a CPU in order of time, no two of the same; the first has time 0 and is what ran before.
 * NULL and 0 where there are none.
 */
const struct flow_switch *flow_timeline_switches(const struct flow_timeline *timeline, uint32_t cpu, size_t *count);
/* The index of the last one at or before time; 0 where all are later. */
size_t flow_switch_at(const struct flow_switch *switches, size_t count, uint64_t time);

/*
 * Whether another CPU may have run the thread between two times, both exclusive. Of idle threads, each CPU has its own.
 * Looks at no more than some hundred switches, behind which anything is possible.
 */
bool flow_timeline_runs_elsewhere(const struct flow_timeline *timeline, uint32_t cpu, uint32_t tid, uint64_t from,
				  uint64_t until);

/* Calls each(context, pid, tid) for each switch to a known thread, until one returns true; whether one did. */
bool flow_timeline_any_switch(const struct flow_timeline *timeline,
			      bool (*each)(void *context, uint32_t pid, uint32_t tid), void *context);

/* What lies at an address of a process at a time. */
struct flow_place {
	uint64_t first;       /* the range of addresses for which this answer holds, */
	uint64_t last;        /* both inclusive */
	uint32_t image;       /* FLOW_NONE: no image covers it */
	bool has_code;        /* the bytes are in the trace: */
	bool code_event;      /* they were given by a code event, not by the image */
	uint32_t blob;        /* as in ptl_blob_at */
	uint64_t blob_offset; /* of the byte at `first` */
};

/*
 * Looks an address up; false where neither an image nor code was there (place->first and last then
 * are the hole). process is an index.
 */
bool flow_timeline_find(const struct flow_timeline *timeline, uint32_t process, uint64_t time, uint64_t address,
			struct flow_place *place);

#endif
