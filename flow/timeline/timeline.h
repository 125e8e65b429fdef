/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes, threads, images and code over time, built once from a trace's events. */
#ifndef FLOW_TIMELINE_TIMELINE_H
#define FLOW_TIMELINE_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/kernel.h>
#include <ptl/reader.h>

/*
 * Processes, threads and images are numbered from 0, in the order of the trace. A number below is an index into the
 * array of processes, threads or images, and stays valid as long as the timeline. FLOW_NONE means no index. Strings
 * belong to the timeline. Times are the trace's clock. All functions except build, begin, event and free only read, and
 * may be called from several threads.
 */
#define FLOW_NONE UINT32_MAX

/* The end of the trace does not show an end of the process, thread or image. */
#define FLOW_TIME_END UINT64_MAX

/* A program run by a process: the first at the process's start, another at each exec. */
struct flow_program {
	uint64_t time;
	const char *name;         /* last component of the path, or of the command line's first word; "": unknown */
	const char *path;         /* never NULL */
	const char *command_line; /* never NULL */
};

/* A signal whose default action ended a process. */
struct flow_fatal_signal {
	uint64_t time;
	uint32_t tid;    /* thread that took the signal */
	uint32_t signal; /* 0: unknown */
	int32_t code;    /* si_code of sigaction(2) */
	uint32_t sender; /* pid of the process that sent the signal; 0: the kernel, or unknown */
	bool has_address;
	uint64_t address; /* si_addr of sigaction(2) */
};

struct flow_timeline_process {
	uint32_t pid;
	uint32_t parent_pid;
	uint32_t parent;     /* index of the parent; FLOW_NONE: the parent is not in the trace */
	uint64_t unique_key; /* 0: the trace has no key */
	uint64_t start;      /* 0: the process existed before the trace began */
	uint64_t end;        /* FLOW_TIME_END: no end is known */
	bool started;        /* an event reports the start, not only the rundown */
	bool ended;
	/* No process event reports the process. It is known from threads, images or streams only. */
	bool implied;
	bool has_exit_status;
	int32_t exit_status; /* exit status in the encoding of wait(2) */
	/* signal that ended the process, with its thread; signal 0: none, or the trace does not tell the thread */
	struct flow_fatal_signal fatal;
	const char *name;                    /* of the last program; "": unknown */
	const struct flow_program *programs; /* programs in order of time; at least one unless implied */
	size_t program_count;
	const uint32_t *images; /* indexes of the images, in order of load */
	size_t image_count;
	const uint32_t *threads; /* indexes of the threads, in order of start */
	size_t thread_count;
};

struct flow_timeline_thread {
	uint32_t process; /* index of the process */
	uint32_t pid;
	uint32_t tid;
	uint64_t start;
	uint64_t end;
	uint64_t start_address; /* address of the first instruction; 0 unknown */
	bool started;
	bool ended;
	bool implied;
	const char *name; /* never NULL */
};

/*
 * One image (a mapping of code) of one process over time. A mapping that is partly replaced or unmapped keeps the rest.
 * `end` is the time when the last byte was unmapped. A forked process begins with copies of its parent's images. If a
 * compiler reuses memory, parts of an image are images, too, with equal data and another layer of names.
 */
struct flow_timeline_image {
	uint32_t process;            /* index of the process */
	uint64_t start;              /* time of the load; of an inherited image: start of the forked process */
	uint64_t end;                /* FLOW_TIME_END: no end is known */
	bool rundown;                /* the image existed before the trace began */
	bool inherited;              /* copied from the parent by a fork */
	uint32_t layer;              /* layer of the names of generated code: see flow_timeline_made */
	uint32_t whole;              /* index of the whole image, if layer is not 0; else index of this image */
	struct ptl_image_event data; /* strings belong to the timeline; protection is the last known protection */
};

struct flow_timeline;

/*
 * Reads the trace's events of the process, thread, image and code classes. Events of unknown versions are skipped and
 * counted. A stream of a process or thread without events makes an implied process or thread. Returns PTL_NO_MEMORY, or
 * an error of ptl_process.
 */
int flow_timeline_build(struct ptl_trace *trace, struct flow_timeline **timeline);
/* The same with names of generated code (flow/symbol/made_code.h), which the timeline takes. */
struct flow_made_set;
int flow_timeline_build_named(struct ptl_trace *trace, struct flow_made_set *made, struct flow_timeline **timeline);
/*
 * For a trace that is being written: begin makes an empty timeline, event adds an event. Events must arrive in order of
 * time. The timeline has the processes, programs and threads reported so far. It has no lists of members, and no code.
 * Return PTL_NO_MEMORY.
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

struct flow_made_layer;
/*
 * Returns the names that a process's compiler gave its code, on the layer of an image; NULL: no names. The names live as
 * long as the timeline and the user's files.
 */
const struct flow_made_layer *flow_timeline_made(const struct flow_timeline *timeline, uint32_t pid, uint32_t layer);
/*
 * Returns the number of functions whose memory was used again for later functions at an unknown time. The later
 * functions give the names for the whole trace.
 */
size_t flow_timeline_made_replaced(const struct flow_timeline *timeline);
/* Returns the number of damaged files of compilers. The entries before the damage are used. */
size_t flow_timeline_made_unreadable(const struct flow_timeline *timeline);

/* Returns the number of events of the four classes that could not be understood. The timeline lacks such events. */
uint64_t flow_timeline_skipped(const struct flow_timeline *timeline);

/*
 * Returns the process that had pid at time; FLOW_NONE: no process ever had the pid. If several processes had the pid,
 * returns the last process that started at or before time; before all starts, the first process.
 */
uint32_t flow_timeline_process_at(const struct flow_timeline *timeline, uint32_t pid, uint64_t time);
/* As flow_timeline_process_at, for a thread. */
uint32_t flow_timeline_thread_at(const struct flow_timeline *timeline, uint32_t pid, uint32_t tid, uint64_t time);
/* Returns the program that the process ran at time; NULL for an implied process. */
const struct flow_program *flow_timeline_program_at(const struct flow_timeline *timeline, uint32_t process,
						    uint64_t time);
/*
 * Returns the name of the program that the process ran at time; 0: the time is unknown. If time or program's name is
 * unknown: the name of the last program. "": no name is known, or process is FLOW_NONE.
 */
const char *flow_timeline_process_name(const struct flow_timeline *timeline, uint32_t process, uint64_t time);
/* As flow_timeline_process_name, by pid. NULL: pid is PTL_NO_ID, or no process ever had the pid. */
const char *flow_timeline_name_at(const struct flow_timeline *timeline, uint32_t pid, uint64_t time);

/*
 * From `time` on, a CPU ran this thread. pid 0, tid 0: the idle thread. pid and tid PTL_NO_ID: an unknown thread. pid
 * PTL_NO_ID, tid 0: a thread that is not recorded, or, until the next switch, kernel code on the way to the next
 * thread.
 */
struct flow_switch {
	uint64_t time;
	uint32_t pid;
	uint32_t tid;
};

/*
 * Returns the context switches of a CPU in order of time, at most one for each time. The first has time 0 and is the
 * thread before the first real switch. NULL and a count of 0: the CPU has no switches.
 */
const struct flow_switch *flow_timeline_switches(const struct flow_timeline *timeline, uint32_t cpu, size_t *count);
/* Returns the index of the last switch at or before time; 0: all switches are later. */
size_t flow_switch_at(const struct flow_switch *switches, size_t count, uint64_t time);

/*
 * Checks whether ptl-record resumed the thread's packets (--only-between) after `from` and not after `until`: before, the
 * packets were paused.
 */
bool flow_timeline_resumes(const struct flow_timeline *timeline, uint32_t tid, uint64_t from, uint64_t until);

/*
 * Checks whether another CPU may have run the thread between two times, both exclusive. Each CPU has its own idle
 * thread. After a few hundred switches, the search stops and returns true.
 */
bool flow_timeline_runs_elsewhere(const struct flow_timeline *timeline, uint32_t cpu, uint32_t tid, uint64_t from,
				  uint64_t until);

/*
 * Calls each(context, pid, tid) for each switch to a known thread until a call returns true. Returns whether a call
 * returned true.
 */
bool flow_timeline_any_switch(const struct flow_timeline *timeline,
			      bool (*each)(void *context, uint32_t pid, uint32_t tid), void *context);

/* Image and code at an address of a process at a time. */
struct flow_place {
	uint64_t first;       /* first address with this image and code */
	uint64_t last;        /* last address, inclusive */
	uint32_t image;       /* FLOW_NONE: no image covers the address */
	bool has_code;        /* the bytes are in the trace, at `blob` and `blob_offset` */
	bool code_event;      /* a code event gave the bytes, not the image */
	uint32_t blob;        /* blob number, as for ptl_blob_at */
	uint64_t blob_offset; /* blob offset of the byte at `first` */
};

/*
 * Looks up an address. process is an index. Returns false if the address had neither an image nor code: then
 * place->first and place->last are the hole.
 */
bool flow_timeline_find(const struct flow_timeline *timeline, uint32_t process, uint64_t time, uint64_t address,
			struct flow_place *place);

#endif
