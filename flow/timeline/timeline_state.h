/* SPDX-License-Identifier: BSD-2-Clause */
/* Internals of the timeline, shared by building and queries. Only files of this folder include this header. */
#ifndef FLOW_TIMELINE_TIMELINE_STATE_H
#define FLOW_TIMELINE_TIMELINE_STATE_H

#include "common/arena.h"
#include "common/hash_map.h"
#include "format/state/fold.h"
#include "flow/timeline/made_names.h"
#include "flow/timeline/timeline.h"
#include "flow/timeline/query.h"

/* An address space from `time` on. */
struct flow_space_version {
	uint64_t time;
	uint32_t root;  /* all pieces */
	uint32_t files; /* only pieces with bytes of their image, not of a code event */
	bool injected;  /* the change was not recorded: a tool that rewrote the trace added the event */
	/*
	 * time of the first injected version from this version on; FLOW_TIME_END; set when all events are read
	 */
	uint64_t next_injected;
};

/* Number of different fatal signals that a process keeps until its end. */
#define FLOW_FATAL_SIGNALS 4u

struct flow_process_state {
	struct format_fold_process fold; /* first member; its root is the tree of all pieces */
	struct flow_timeline_process data;
	/* process 0 of the machine, whose images the process sees, too; FLOW_NONE; set when all events are read */
	uint32_t kernel;
	uint32_t files;    /* current root: see flow_space_version */
	uint32_t previous; /* previous process with this pid; FLOW_NONE */
	bool begins_empty; /* the process inherits nothing from its parent */
	uint8_t fatal_count;
	struct flow_fatal_signal fatal[FLOW_FATAL_SIGNALS]; /* fatal signals in order of time */
	/*
	 * Root of the parent's space at the fork, until the fold decides whether the process inherits the space; then
	 * 0.
	 */
	uint32_t inherited_root;
	struct flow_space_version *versions; /* versions in order of time; the first may begin after the process */
	size_t version_count;
	size_t version_capacity;
	struct flow_program *programs; /* storage of data.programs */
	size_t program_capacity;
};

struct flow_thread_state {
	struct flow_timeline_thread data;
	uint32_t previous; /* previous thread with equal pid and tid; FLOW_NONE */
};

struct flow_image_state {
	struct flow_timeline_image data;
	uint64_t mapped; /* bytes of the image that are still mapped; used while building */
};

/* Context switches of one CPU. The first has time 0 and is the thread before the first real switch. */
struct flow_cpu_switches {
	struct flow_switch *switches;
	size_t count, capacity;
};

/* Images that were loaded before an event reported them: see before.c. */
struct flow_before {
	struct flow_before_image *list;
	size_t count, capacity;
	struct common_hash_map places;     /* by process and base: an image was loaded at the address */
	struct common_hash_map by_process; /* by pid and start: index of the last image in the list */
	struct common_arena arena;
	bool is_known; /* the list is complete, and the timeline is built again */
};

/* Times at which ptl-record resumed a thread's packets, in order. */
struct flow_resumes {
	uint64_t *times;
	size_t count, capacity;
};

struct flow_pauses {
	struct common_hash_map threads; /* by tid: index in `list` */
	struct flow_resumes *list;
	size_t count, capacity;
	struct ptl_guid provider;
	bool is_named; /* `provider` is set */
};

struct flow_timeline {
	struct flow_before before;
	struct flow_process_state *processes;
	size_t process_count, process_capacity;
	struct flow_thread_state *threads;
	size_t thread_count, thread_capacity;
	struct flow_image_state *images;
	size_t image_count, image_capacity;
	uint32_t *alike; /* by image: result of flow_timeline_alike */
	struct format_fold fold;
	/* The current change of an address space. */
	struct {
		uint64_t time;
		bool injected;
	} change;
	struct common_hash_map last_process; /* by pid: last process with the pid */
	struct common_hash_map last_thread;  /* by pid << 32 | tid: last thread with the ids */
	struct common_byte_map blobs;        /* by hash of a blob: index of the blob */
	uint64_t *blob_sizes;                /* by index of the blob: size in bytes */
	bool *blobs_used;                    /* by index of the blob: a piece of a version uses the blob */
	size_t blob_count;
	const struct ptl_trace *trace;     /* set while the timeline is built */
	struct flow_outside_blob *outside; /* blobs without bytes in the trace; their indexes begin at blob_count */
	size_t outside_count, outside_capacity;
	struct common_byte_map texts; /* by string: the shared copy */
	struct common_arena arena;
	uint32_t *process_images; /* storage of data.images and data.threads of all processes */
	uint32_t *process_threads;
	struct common_hash_map cpu_numbers; /* by number of a CPU: index in cpus */
	struct flow_cpu_switches *cpus;
	size_t cpu_count, cpu_capacity;
	struct flow_pauses pauses;
	bool has_unnamed_code;
	struct flow_made_set made;
	struct common_hash_map made_images; /* an image and a layer: the part of the image on that layer */
};

/* Makes room for another element. Returns PTL_NO_MEMORY. */
int flow_timeline_grow(void **array, size_t count, size_t *capacity, size_t element);
/* Returns the timeline's copy of text; equal texts share a copy. NULL without memory. */
const char *flow_timeline_text(struct flow_timeline *timeline, const char *text);

/* image.c. Whether an image is code without own names, possibly made by a compiler. False for FLOW_NONE. */
bool flow_timeline_is_made(const struct flow_timeline *timeline, uint32_t image);
/* image.c. Gives addresses other names, from the change's time on. Returns PTL_NO_MEMORY. */
int flow_timeline_names_change(struct flow_timeline *timeline, const struct flow_made_change *change);

/* alike.c. Fills `alike` when all images are known. Returns PTL_NO_MEMORY. */
int flow_timeline_settle_alike(struct flow_timeline *timeline);

/*
 * process.c. Find the current process of the pid, or the thread; a missing process or thread is added as implied.
 * Return PTL_NO_MEMORY.
 */
int flow_timeline_need_process(struct flow_timeline *timeline, uint32_t pid, uint32_t *process);
int flow_timeline_need_thread(struct flow_timeline *timeline, uint32_t pid, uint32_t tid, uint64_t time);

/* Listeners of the fold: in process.c and image.c. */
extern const struct format_fold_processes flow_timeline_processes;
extern const struct format_fold_threads flow_timeline_threads;
extern const struct format_fold_spaces flow_timeline_spaces;

/* switch.c. Adds a context switch. Events must arrive in order of time. */
int flow_timeline_switched(void *context, const struct ptl_event *event, const struct ptl_switch_event *data);
/* Finds the process of the thread that each CPU ran first, by tid. Called when all events are read. */
void flow_timeline_settle_switches(struct flow_timeline *timeline);
void flow_timeline_free_switches(struct flow_timeline *timeline);

/* pause.c. Adds the event if it tells that packets were resumed. Events must arrive in order of time. PTL_NO_MEMORY. */
int flow_timeline_resumed(struct flow_timeline *timeline, const struct ptl_event *event);
void flow_timeline_free_pauses(struct flow_timeline *timeline);

/* process.c. Finds parents that were reported after their children. Called when all events are read. */
void flow_timeline_settle_parents(struct flow_timeline *timeline);

/* before.c */

void flow_before_free(struct flow_before *before);
/* Records that an image was loaded. Returns PTL_NO_MEMORY. */
int flow_before_loaded(struct flow_timeline *timeline, uint32_t process, uint64_t base);
/*
 * Listener: keeps an image without a load event, if the image may have been loaded at the start. Returns PTL_NO_MEMORY.
 */
int flow_before_unannounced(void *context, struct format_fold_process *process, const struct ptl_event *event,
			    const struct ptl_image_event *data);
/* Loads the images of a process that has just begun. Errors as format_fold_event. */
int flow_before_load(struct flow_timeline *timeline, uint32_t pid, uint64_t start);
/* Loads the images from before the start of the trace. Errors as format_fold_event. */
int flow_before_load_all(struct flow_timeline *timeline);
/*
 * Decides which kept images were loaded before their events. Called when all events are read. Returns whether any was.
 */
bool flow_before_settle(struct flow_timeline *timeline);
/* Moves the images to another timeline before the second build. */
void flow_before_move(struct flow_timeline *from, struct flow_timeline *to);

/* process.c. Finds the process of the kernel whose images each process sees. Called when all events are read. */
void flow_timeline_settle_kernels(struct flow_timeline *timeline);

/* image.c. Finds the next injected version of each version. Called when all events are read. */
void flow_timeline_settle_versions(struct flow_timeline *timeline);

/* The fold's process is the first member of struct flow_process_state. */
static inline struct flow_process_state *flow_timeline_state_of(struct format_fold_process *process)
{
	return (struct flow_process_state *)process;
}

static inline uint32_t flow_timeline_number(const struct flow_timeline *timeline,
					    const struct format_fold_process *process)
{
	return (uint32_t)((const struct flow_process_state *)process - timeline->processes);
}

#endif
