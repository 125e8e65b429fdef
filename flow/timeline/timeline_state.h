/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside the timeline: what its building and its queries share. Only timeline*.c include this. */
#ifndef FLOW_TIMELINE_TIMELINE_STATE_H
#define FLOW_TIMELINE_TIMELINE_STATE_H

#include "common/arena.h"
#include "common/hash_map.h"
#include "format/state/fold.h"
#include "flow/timeline/timeline.h"
#include "flow/timeline/query.h"

/* An address space from `time` on. */
struct flow_space_version {
	uint64_t time;
	uint32_t root;  /* all pieces */
	uint32_t files; /* only the pieces with their image's own bytes, not a code event's */
	bool injected;  /* what changed was not recorded, but added by a rewriting */
	uint64_t
		next_injected; /* time of the first such version from this one on, FLOW_TIME_END; once all events have come */
};

struct flow_process_state {
	struct format_fold_process fold; /* first; its root is that of all pieces */
	struct flow_timeline_process data;
	uint32_t kernel; /* process 0 of its machine, whose images it sees, too; FLOW_NONE; once all events have come */
	uint32_t files;  /* root as it is now: see flow_space_version */
	uint32_t previous; /* the process that had this pid before, FLOW_NONE */
	bool begins_empty; /* it has nothing of its parent's */
	/* Of the parent's space at the fork, while undecided whether it is inherited; else 0. */
	uint32_t inherited_root;
	struct flow_space_version *versions; /* in order of time; the first may begin late */
	size_t version_count;
	size_t version_capacity;
	struct flow_program *programs; /* data.programs */
	size_t program_capacity;
};

struct flow_thread_state {
	struct flow_timeline_thread data;
	uint32_t previous; /* the thread that had this pid and tid before, FLOW_NONE */
};

struct flow_image_state {
	struct flow_timeline_image data;
	uint64_t mapped; /* bytes of it that are still mapped, while building */
};

/* What one CPU went over to; the first, of time 0, is what it ran before its first switch. */
struct flow_cpu_switches {
	struct flow_switch *switches;
	size_t count, capacity;
};

/* Images that were there before an event reported them: before.c. */
struct flow_before {
	struct flow_before_image *list;
	size_t count, capacity;
	struct common_hash_map places;     /* process and base: an image has been there */
	struct common_hash_map by_process; /* pid and start: index of the last image in the list */
	struct common_arena arena;
	bool is_known; /* the list is complete: the timeline is built again */
};

struct flow_timeline {
	struct flow_before before;
	struct flow_process_state *processes;
	size_t process_count, process_capacity;
	struct flow_thread_state *threads;
	size_t thread_count, thread_capacity;
	struct flow_image_state *images;
	size_t image_count, image_capacity;
	uint32_t *alike; /* by image: see flow_timeline_alike */
	struct format_fold fold;
	/* The change of an address space that is under way. */
	struct {
		uint64_t time;
		bool injected;
	} change;
	struct common_hash_map last_process; /* by pid: the last process that has had it */
	struct common_hash_map last_thread;  /* by pid << 32 | tid */
	struct common_byte_map blobs;        /* hash of a blob: its index */
	uint64_t *blob_sizes;                /* by that index */
	bool *blobs_used;                    /* by that index: some piece of some version has it */
	size_t blob_count;
	const struct ptl_trace *trace;     /* while the timeline is built */
	struct flow_outside_blob *outside; /* those whose bytes are not in the trace: indexes from blob_count on */
	size_t outside_count, outside_capacity;
	struct common_byte_map texts; /* a string: the copy that all share */
	struct common_arena arena;
	uint32_t *process_images; /* storage of data.images and data.threads of all processes */
	uint32_t *process_threads;
	struct common_hash_map cpu_numbers; /* of a CPU: its index in cpus */
	struct flow_cpu_switches *cpus;
	size_t cpu_count, cpu_capacity;
	bool has_unnamed_code;
};

/* Makes room for one more element; PTL_NO_MEMORY. */
int flow_timeline_grow(void **array, size_t count, size_t *capacity, size_t element);
/* The timeline's own copy of text, one for equal texts; NULL without memory. */
const char *flow_timeline_text(struct flow_timeline *timeline, const char *text);

/* alike.c. When all images are there; PTL_NO_MEMORY. */
int flow_timeline_settle_alike(struct flow_timeline *timeline);

/* process.c. The process that now has the pid: made (implied) where there is none; PTL_NO_MEMORY. */
int flow_timeline_need_process(struct flow_timeline *timeline, uint32_t pid, uint32_t *process);
int flow_timeline_need_thread(struct flow_timeline *timeline, uint32_t pid, uint32_t tid, uint64_t time);

/* What listens to the fold: in process.c and image.c. */
extern const struct format_fold_processes flow_timeline_processes;
extern const struct format_fold_threads flow_timeline_threads;
extern const struct format_fold_spaces flow_timeline_spaces;

/* switch.c. Events come in order of time. */
int flow_timeline_switched(void *context, const struct ptl_event *event, const struct ptl_switch_event *data);
/* All events have come: finds the process of the thread that each CPU ran first, by its tid. */
void flow_timeline_settle_switches(struct flow_timeline *timeline);
void flow_timeline_free_switches(struct flow_timeline *timeline);

/* process.c. All events have come: finds parents that were reported behind their children. */
void flow_timeline_settle_parents(struct flow_timeline *timeline);

/* before.c */

void flow_before_free(struct flow_before *before);
/* Notes that an image was loaded. PTL_NO_MEMORY. */
int flow_before_loaded(struct flow_timeline *timeline, uint32_t process, uint64_t base);
/* The listener's: keeps an image that nothing loaded, if the image can have been there at the start. PTL_NO_MEMORY. */
int flow_before_unannounced(void *context, struct format_fold_process *process, const struct ptl_event *event,
			    const struct ptl_image_event *data);
/* Loads the images of a process that has just begun. As format_fold_event. */
int flow_before_load(struct flow_timeline *timeline, uint32_t pid, uint64_t start);
/* Loads the images that were there when the trace began. As format_fold_event. */
int flow_before_load_all(struct flow_timeline *timeline);
/* All events have come: finds which of the images were there. Returns whether any was. */
bool flow_before_settle(struct flow_timeline *timeline);
/* Gives the images to a timeline that is to be built again. */
void flow_before_move(struct flow_timeline *from, struct flow_timeline *to);

/* process.c. All events have come: finds whose images each process sees beside its own. */
void flow_timeline_settle_kernels(struct flow_timeline *timeline);

/* image.c. All events have come: finds the injected version that comes next. */
void flow_timeline_settle_versions(struct flow_timeline *timeline);

/* The fold's process is the first member of ours. */
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
